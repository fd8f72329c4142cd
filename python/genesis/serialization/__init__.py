"""Files: `save` and `load`, and the formats behind them.

Nothing in a file is ever executed. `safetensors.py` is the format of `save`, `structure.py` keeps
what lies around the tensors (dicts, lists, numbers), `torch_file.py` reads PyTorch's files through
the machine of `unpickle.py`, `torch_writer.py` writes them, `arrays.py` is for those of NumPy.
`atomic.py` replaces files in one step, `source.py` reads within bounds.
"""

from genesis.serialization.errors import FileFormatError
from genesis.serialization.files import load, save
from genesis.serialization.safetensors import load_file, read_metadata, save_file
from genesis.serialization.unpickle import ForeignObject

__all__ = [
    "FileFormatError",
    "ForeignObject",
    "load",
    "load_file",
    "read_metadata",
    "save",
    "save_file",
]
