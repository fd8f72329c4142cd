"""Short-time Fourier transforms, and the windows that they use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from genesis import _C, _overridable, fft
from genesis._C import Tensor
from genesis.signal import windows

__all__ = [
    "bartlett_window",
    "blackman_window",
    "hamming_window",
    "hann_window",
    "istft",
    "kaiser_window",
    "stft",
]


def _window_of(
    op: str,
    window: Callable[..., Tensor],
    length: int,
    periodic: bool,
    *,
    dtype: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    **options: Any,
) -> Tensor:
    """A window of any floating dtype; those of ``signal.windows`` are float32 or float64."""
    if isinstance(length, bool) or not hasattr(length, "__index__"):
        raise TypeError(f"{op}: window_length must be an int, got {type(length).__name__}")
    if length < 0:
        raise _C.ShapeError(f"{op}: window_length must not be negative, got {length}")
    dtype = _C.get_default_dtype() if dtype is None else _C._as_dtype(dtype)
    if not dtype.is_floating_point:
        raise _C.DTypeError(f"{op}: dtype must be a floating dtype, got {dtype}")
    half = dtype in (_C.float16, _C.bfloat16)
    made = window(length, sym=not periodic, dtype=_C.float32 if half else dtype, **options)
    return (made.to(dtype) if half else made).requires_grad_(requires_grad)


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """The Hann window of this length: periodic (for spectral analysis) or symmetric.

    >>> genesis.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window_of("hann_window", windows.hann, window_length, periodic, **options)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: Any,
) -> Tensor:
    """The Hamming window, ``alpha - beta * cos(2 * pi * k / N)``."""
    return _window_of(
        "hamming_window",
        windows.general_cosine,
        window_length,
        periodic,
        a=[alpha, beta],
        **options,
    )


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """The Blackman window."""
    return _window_of("blackman_window", windows.blackman, window_length, periodic, **options)


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """The Bartlett window: triangular, with zeros at both ends."""
    return _window_of("bartlett_window", windows.bartlett, window_length, periodic, **options)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any
) -> Tensor:
    """The Kaiser window with shape parameter ``beta``."""
    return _window_of(
        "kaiser_window", windows.kaiser, window_length, periodic, beta=beta, **options
    )


def _window(op: str, window: Tensor | None, win_length: int, n_fft: int, like: Tensor) -> Tensor:
    """The window, zero-padded on both sides to n_fft values."""
    if not 0 < win_length <= n_fft:
        raise _C.ShapeError(f"{op}: win_length must be from 1 to n_fft={n_fft}, got {win_length}")
    if window is None:
        window = _C.ones(win_length, dtype=like.dtype.to_real())
    elif tuple(window.shape) != (win_length,):
        raise _C.ShapeError(
            f"{op}: window must have shape ({win_length},), as given by win_length, got "
            f"{tuple(window.shape)}"
        )
    left = (n_fft - win_length) // 2
    return _C.constant_pad_nd(window, [left, n_fft - win_length - left])


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The short-time Fourier transform of a signal, of shape ``(..., frequencies, frames)``.

    Each frame has ``n_fft`` samples and is multiplied by ``window``; successive frames start
    ``hop_length`` samples apart (by default ``n_fft // 4``). With ``center``, the signal is padded
    so that frame ``t`` is centered at sample ``t * hop_length``. ``onesided`` returns the first
    ``n_fft // 2 + 1`` frequencies, which determine the spectrum of a real signal.
    """
    if input.dim() not in (1, 2):
        raise _C.ShapeError(f"stft: input must have 1 or 2 dimensions, got {tuple(input.shape)}")
    if not input.is_complex() and not input.is_floating_point():
        raise _C.DTypeError(f"stft: input must be floating or complex, got {input.dtype}")
    if align_to_window is not None and center:
        raise _C.ShapeError("stft: align_to_window requires center=False")
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    complex_in = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not complex_in:
            raise _C.ShapeError(
                "stft: a real input requires return_complex; pass return_complex=True"
            )
        return_complex = True
    x = input.unsqueeze(0) if input.dim() == 1 else input
    if center:
        from genesis.nn import functional as F

        half = n_fft // 2
        x = F.pad(x.unsqueeze(1), (half, half), mode=pad_mode).squeeze(1)
    if not 0 < n_fft <= x.shape[-1]:
        raise _C.ShapeError(
            f"stft: n_fft must be from 1 to the length of the signal, {x.shape[-1]}, got {n_fft}"
        )
    if hop <= 0:
        raise _C.ShapeError(f"stft: hop_length must be positive, got {hop}")
    if align_to_window:  # the first window, not the first frame, starts at the first sample
        left = (n_fft - win_length) // 2
        x = _C.constant_pad_nd(x, [left, n_fft - win_length - left])
    padded = _window("stft", window, win_length, n_fft, x)
    frames = x.unfold(-1, n_fft, hop) * padded
    norm = "ortho" if normalized else None
    if onesided is None:
        onesided = not complex_in
    if onesided and complex_in:
        raise _C.ShapeError("stft: onesided=True requires a real input and a real window")
    spectrum = (fft.rfft if onesided else fft.fft)(frames, norm=norm)
    spectrum = spectrum.transpose(-1, -2)
    if input.dim() == 1:
        spectrum = spectrum.squeeze(0)
    return spectrum if return_complex else _C.view_as_real(spectrum.contiguous())


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The inverse of :func:`stft`, by overlap-add, normalized by the sum of the squared windows.

    ``length`` is the length of the signal; by default it is the length that the frames cover.
    """
    if not input.is_complex():
        raise _C.DTypeError(f"istft: input must be complex, got {input.dtype}; use view_as_complex")
    if input.dim() not in (2, 3):
        raise _C.ShapeError(f"istft: input must have 2 or 3 dimensions, got {tuple(input.shape)}")
    if input.numel() == 0:
        raise _C.ShapeError("istft: input must not be empty")
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if not 0 < hop <= win_length:
        raise _C.ShapeError(
            f"istft: hop_length must be from 1 to win_length={win_length}, got {hop}"
        )
    x = input.unsqueeze(0) if input.dim() == 2 else input
    frequencies, count = x.shape[-2], x.shape[-1]
    if onesided is None:
        onesided = frequencies != n_fft
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if frequencies != wanted:
        raise _C.ShapeError(
            f"istft: input must have {wanted} frequencies, got {tuple(input.shape)}"
        )
    if return_complex and onesided:
        raise _C.ShapeError("istft: return_complex=True requires onesided=False")
    padded = _window("istft", window, win_length, n_fft, input)
    if not return_complex and padded.is_complex():
        raise _C.DTypeError("istft: a complex window requires return_complex=True")
    norm = "ortho" if normalized else None
    x = x.transpose(-1, -2)
    if return_complex:
        frames = fft.ifft(x, norm=norm)
    elif onesided:
        frames = fft.irfft(x, n_fft, norm=norm)
    else:
        frames = fft.irfft(x[..., : n_fft // 2 + 1], n_fft, norm=norm)
    covered = n_fft + hop * (count - 1)
    position = (_C.arange(n_fft) + hop * _C.arange(count).unsqueeze(1)).flatten()

    def overlap_add(frames: Tensor) -> Tensor:
        zeros = _C.zeros(frames.shape[0], covered, dtype=frames.dtype)
        return zeros.index_add(-1, position, frames.reshape(frames.shape[0], -1))

    signal = overlap_add(frames * padded)
    envelope = overlap_add((padded * padded).expand(1, count, n_fft))
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else covered - (n_fft // 2 if center else 0)
    stop = min(end, covered)
    signal, envelope = signal[:, start:stop], envelope[:, start:stop]
    if envelope.numel() and float(envelope.detach().abs().min()) < 1e-11:
        raise RuntimeError(
            "istft: the sum of the squared windows is zero at some samples; use a smaller "
            "hop_length, another window, or center=True"
        )
    signal = signal / envelope
    if end > covered:
        signal = _C.constant_pad_nd(signal, [0, end - covered])
    return signal.squeeze(0) if input.dim() == 2 else signal


_overridable.make_overridable(__all__, globals())
