"""Sphinx: `tools/docs` builds the pages in both languages."""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import genesis  # noqa: E402

project = "Genesis"
author = "The Genesis authors"
copyright = "The Genesis authors"
version = release = genesis.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "reference",
    "coverage",
    "mathml",
    "chinese_search",
]
exclude_patterns = ["locale", "_extensions", "_templates", "images/*.py"]
templates_path = ["_templates"]
default_role = "code"

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False  # forward would say the same in every layer
autodoc_typehints = "both"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

language = "en"  # `tools/docs` also builds with -D language=zh_CN
locale_dirs = ["locale"]
gettext_compact = False
gettext_location = False

html_math_renderer = "mathml"
html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = "Genesis"
html_static_path = ["_static"]
html_css_files = ["genesis.css"]
html_copy_source = False
html_show_sphinx = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/language.html",
        "sidebar/repository.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}


def repository() -> str:
    """The address of the repository in a browser: where this copy was cloned from."""
    asked = subprocess.run(
        ["git", "config", "--get", "remote.origin.url"], cwd=HERE, capture_output=True, text=True
    )
    address = re.sub(r"^(?:ssh://)?git@([^:/]+)[:/]", r"https://\1/", asked.stdout.strip())
    return address.removesuffix(".git") if address.startswith("http") else ""


html_context = {"repository": os.environ.get("GENESIS_REPOSITORY") or repository()}
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b6b4f",
        "color-brand-content": "#0b6b4f",
    },
    "dark_css_variables": {
        "color-brand-primary": "#5fd0a5",
        "color-brand-content": "#5fd0a5",
    },
}
