"""What an example prints."""

import contextlib
import io


def out(f):
    b = io.StringIO()
    with contextlib.redirect_stdout(b):
        f()
    return b.getvalue().strip()
