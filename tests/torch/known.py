"""Where the comparison with PyTorch does not apply, and why."""

# Parameters that PyTorch's stubs or docstrings name, but its functions do not accept so.
STUBS: dict[str, tuple[str, ...]] = {
    # "out" and "generator" are in the stubs of functions that refuse them
    "torch.argsort": ("out",),
    "torch.hardshrink": ("out",),
    "torch.nn.functional.hardshrink": ("out",),
    "torch.slice_scatter": ("out",),
    # keyword-only in fact
    "torch.tensor": ("dtype", "device", "requires_grad"),
    "torch.Tensor.new_tensor": ("dtype", "device", "requires_grad"),
    "torch.Tensor.requires_grad_": ("mode",),  # its name is requires_grad
    # integers cannot require grad
    "torch.tril_indices": ("requires_grad",),
    "torch.triu_indices": ("requires_grad",),
    # steps may be left out of a deprecated form only
    "torch.linspace": ("steps",),
    "torch.logspace": ("steps",),
    # the orders before PyTorch 1.0
    "torch.rsub": ("alpha",),
    "torch.subtract": ("alpha",),
    "torch.Tensor.subtract": ("alpha",),
    "torch.Tensor.subtract_": ("alpha",),
    # the default of the overload that takes text; 0 means the same
    **{
        f"{owner}.conv{n}d": ("padding",)
        for owner in ("torch", "torch.nn.functional")
        for n in (1, 2, 3)
    },
    # documented with the names that Genesis has
    "torch.cholesky_inverse": ("input",),
    "torch.cholesky_solve": ("input",),
    "torch.Tensor.cholesky_solve": ("input2",),
    "torch.ormqr": ("input2", "input3"),
    "torch.Tensor.ormqr": ("input2", "input3"),
    "torch.full": ("names",),  # named dimensions
    "torch.enable_grad": ("orig_func",),  # how a decorator is passed on
    "torch.autograd.enable_grad": ("orig_func",),
    "torch.Tensor.expand": ("implicit",),  # for internal use
}

# Operators whose results differ, by PyTorch's name of their samples, with a dtype or for all.
UNLIKE: dict[str, str] = {
    "addbmm-int64": "PyTorch truncates a fractional beta or alpha; Genesis refuses it",
    "addmv-int64": "PyTorch truncates a fractional beta or alpha; Genesis refuses it",
    "baddbmm-int64": "PyTorch truncates a fractional beta or alpha; Genesis refuses it",
    "as_strided.partial_views": "the samples are views of memory that is not converted",
    "kthvalue-int64": "the index of one of several equal elements",
    "topk-int64": "the index of one of several equal elements",
    "linalg.eigh": "eigenvectors have a sign; tests/ops compares them up to it",
    "matrix_exp-float32": "results differ in the fourth digit; float64 agree",
    "special.ndtr-float32": "PyTorch's results have three correct digits",
    "special.ndtr-int64": "PyTorch's results have three correct digits",
    "nn.functional.linear_cross_entropy.chunked": "options are an object of PyTorch",
    "nn.functional.linear_cross_entropy.chunked_none": "options are an object of PyTorch",
    "nn.functional.local_response_norm-int64": "integers have no mean",
    "nn.functional.softsign-int64": "Genesis refuses integers",
    "nn.functional.triplet_margin_with_distance_loss": "the distance is a module of PyTorch",
    "as_strided_scatter": "the gradient of elements that are written twice differs, see its row",
    "sparse.mm.reduce": "the samples are sparse",
    "sparse.sampled_addmm": "the samples are sparse",
    **{
        f"{name}-complex128": "the diagonal of the factor is real; PyTorch's gradient at its imaginary "
        "part is not zero"
        for name in ("cholesky", "linalg.cholesky", "linalg.cholesky_ex")
    },
    "stft-float32": "values near zero differ by rounding; float64 agree",
    "linalg.eig": "eigenvectors have a phase; tests/ops compares them up to it",
    **{
        f"special.bessel_{name}": "PyTorch's values have seven digits beyond 5; ours are SciPy's"
        for name in ("j0", "j1", "y0", "y1")
    },
    **{
        f"special.{name}": "a degree between -1 and 0 counts as 0 in PyTorch, and as negative here"
        for name in (
            *(f"{kind}chebyshev_polynomial_{n}" for kind in ("", "shifted_") for n in "tuvw"),
            "hermite_polynomial_h",
            "hermite_polynomial_he",
            "laguerre_polynomial_l",
            "legendre_polynomial_p",
        )
    },
    "sgn": "PyTorch's gradient is of a kind that cannot be read",
    **{
        f"{name}-bool": "at 0, PyTorch's odd orders have the wrong sign"
        for name in (
            *(f"polygamma.polygamma_n_{n}" for n in range(5)),
            "special.polygamma.special_polygamma_n_0",
        )
    },
}

# Operators of which a result requires grad in PyTorch although it has no gradient.
NO_GRADIENT = {
    "bernoulli",
    "linalg.lstsq",
    "linalg.matrix_power",
    "linalg.slogdet",
    "native_batch_norm",
    "native_layer_norm",
    "nextafter",
    "normal",
}

# Layers whose samples do not apply.
UNLIKE_MODULES: dict[str, str] = {
    **{
        f"LazyConv{kind}{n}d": "its state cannot be copied before the first call"
        for kind in ("", "Transpose")
        for n in (1, 2, 3)
    },
    "TransformerEncoder": "the layer is a module of PyTorch",
    "TransformerEncoderLayer": "the activation is a function of PyTorch",
    "TransformerDecoderLayer": "the activation is a function of PyTorch",
}
