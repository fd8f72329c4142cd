"""Changes of the type of a module's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from genesis import _C
from genesis._C import Tensor

if TYPE_CHECKING:
    from typing_extensions import Self

    from genesis.nn.modules.module import Module
    from genesis.nn.parameter import Parameter


class ModuleConvert:
    """The part of Module that converts parameters and buffers."""

    if TYPE_CHECKING:  # the names are not there when get_type_hints() asks for them
        _parameters: dict[str, Parameter | None]
        _buffers: dict[str, Tensor | None]
        _modules: dict[str, Module | None]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of every parameter, its gradient, and every buffer by ``fn`` of it."""
        if recurse:
            for module in self._modules.values():
                if module is not None:
                    module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            with _C.no_grad():
                grad = parameter.grad
                new = fn(parameter.data)
                new_grad = (
                    None if grad is None else fn(grad.data).requires_grad_(grad.requires_grad)
                )
                parameter.grad = None
                parameter.data = new
                parameter.grad = new_grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _cast(self, dtype: _C.dtype) -> Self:
        def cast(t: Tensor) -> Tensor:
            if t.is_floating_point() or (t.is_complex() and dtype.is_complex):
                return t.to(dtype)
            return t

        return self._apply(cast)

    def to(
        self,
        *args: Any,
        device: Any = None,
        dtype: _C.dtype | None = None,
        non_blocking: bool = False,
        memory_format: _C.memory_format | None = None,
    ) -> Self:
        """Convert floating parameters and buffers to a dtype: ``to(dtype)``, ``to(device, dtype)``,
        or ``to(tensor)`` for the dtype of a tensor. With ``memory_format``, those of 4 dimensions
        (5 for ``channels_last_3d``) are laid out so. A device is "cpu", or "meta", which has shapes
        without memory; ``non_blocking`` means nothing on either.

        >>> genesis.nn.Linear(2, 3).to(genesis.float64).weight.dtype
        genesis.float64
        """
        for arg in args:
            if isinstance(arg, Tensor):
                device, dtype = arg.device, arg.dtype
            elif isinstance(arg, _C.dtype):
                dtype = arg
            elif isinstance(arg, (str, _C.device)):
                device = arg
            elif arg is not None and not isinstance(arg, bool):
                raise TypeError(
                    f"{type(self).__name__}.to: expected a dtype, a device or a tensor, got "
                    f"{type(arg).__name__}"
                )
        if device is not None:
            self._move(device)
        if memory_format is not None:
            ndim = 5 if memory_format is _C.channels_last_3d else 4
            self._apply(lambda t: t.to(memory_format=memory_format) if t.ndim == ndim else t)
        if dtype is None:
            return self
        if dtype not in (_C.float16, _C.bfloat16, _C.float32, _C.float64):
            raise TypeError(
                f"{type(self).__name__}.to: dtype must be floating, as gradients are, got {dtype}"
            )
        return self._cast(dtype)

    def _move(self, device: Any) -> None:
        meta = _C.empty(0, device=device).is_meta  # raises if there is no such device
        modules: Any = self.modules()  # type: ignore[attr-defined]
        kept = (t for m in modules for t in (*m._parameters.values(), *m._buffers.values()))
        if any(t is not None and t.is_meta != meta for t in kept):
            self._apply(lambda t: t.to(device))

    def type(self, dst_type: _C.dtype) -> Self:
        """Convert all parameters and buffers, integers too, to a dtype."""
        return self._apply(lambda t: t.to(dst_type))

    def float(self) -> Self:
        """Convert floating parameters and buffers to float32."""
        return self._cast(_C.float32)

    def double(self) -> Self:
        """Convert floating parameters and buffers to float64."""
        return self._cast(_C.float64)

    def half(self) -> Self:
        """Convert floating parameters and buffers to float16."""
        return self._cast(_C.float16)

    def bfloat16(self) -> Self:
        """Convert floating parameters and buffers to bfloat16."""
        return self._cast(_C.bfloat16)

    def share_memory(self) -> Self:
        """Move parameters and buffers to memory that other processes see."""
        module: Any = self
        for tensor in (*module.parameters(), *module.buffers()):
            tensor.share_memory_()
        return self

    def to_empty(self, *, device: Any = None, recurse: bool = True) -> Self:
        """Give all parameters and buffers new, uninitialized memory.

        >>> net = genesis.nn.Linear(2, 3, device="meta").to_empty(device="cpu")
        >>> net.weight.device
        device(type='cpu')
        """
        return self._apply(lambda t: _C.empty_like(t, device=device), recurse)

    def cuda(self, device: Any = None) -> Self:
        """Move to a CUDA device. This build has none: the error suggests an alternative."""
        return self.to(_C.device("cuda" if device is None else device))

    def cpu(self) -> Self:
        """The module itself: it is on the CPU. One on the meta device has no values to move."""
        return self.to(_C.device("cpu"))
