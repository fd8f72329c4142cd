"""PyTorch's information about its build; here that of Genesis, which is for CPUs."""

from genesis._version import __version__ as __version__

cuda: str | None = None
hip: str | None = None
xpu: str | None = None
debug = False
git_version = "unknown"
