"""How the reference is divided into pages and sections."""

MODULES = {
    "genesis.nn": "layers and losses",
    "genesis.nn.functional": "the functions behind the layers",
    "genesis.nn.modules.module": "hooks that all modules share",
    "genesis.nn.attention": "causal attention",
    "genesis.nn.layer_norm": "layer norm as one function",
    "genesis.nn.init": "initial values",
    "genesis.nn.utils": "clipping, vectors, normalised weights, fusion",
    "genesis.nn.utils.parametrize": "parameters that are computed",
    "genesis.nn.utils.parametrizations": "ready-made parametrizations",
    "genesis.nn.utils.prune": "pruning",
    "genesis.nn.utils.rnn": "sequences of different lengths",
    "genesis.nn.utils.spectral_norm": "weights of spectral norm one",
    "genesis.nn.utils.weight_norm": "weights as length and direction",
    "genesis.nn.utils.stateless": "modules as functions",
    "genesis.models.transformers": "language models",
    "genesis.optim": "optimizers",
    "genesis.optim.lr_scheduler": "schedules of the learning rate",
    "genesis.optim.swa_utils": "averages of models",
    "genesis.autograd": "gradients, tapes, functions of one's own",
    "genesis.autograd.function": "custom functions",
    "genesis.autograd.functional": "derivatives at a point",
    "genesis.autograd.graph": "the graph and its hooks",
    "genesis.autograd.tape": "tapes",
    "genesis.func": "transforms of functions",
    "genesis.distributions": "probability distributions",
    "genesis.distributions.transforms": "transforms of random variables",
    "genesis.distributions.constraints": "constraints on parameters and values",
    "genesis.distributions.constraint_registry": "transforms to a constraint",
    "genesis.distributions.utils": "helpers for distributions of one's own",
    "genesis.linalg": "linear algebra",
    "genesis.special": "special functions",
    "genesis.amp": "mixed precision",
    "genesis.random": "random numbers",
    "genesis.utils.data": "data sets and loaders",
    "genesis.utils.checkpoint": "memory for time",
    "genesis.utils.training": "runs that can be resumed",
    "genesis.utils.profile": "calls of decorated functions",
    "genesis.serialization": "files",
    "genesis.distributed": "several processes",
    "genesis.nn.parallel": "data parallel training",
    "genesis.distributed.nn.functional": "collective operations with gradients",
    "genesis.distributed.algorithms.ddp_comm_hooks.default_hooks": "communication of gradients",
    "genesis.distributed.checkpoint": "checkpoints of several processes",
    "genesis.distributed.checkpoint.state_dict": "states that are divided among ranks",
    "genesis.distributed.optim": "optimizers that are divided among ranks",
    "genesis.distributed.fsdp": "models that are divided among ranks",
    "genesis.distributed.device_mesh": "ranks in a grid",
    "genesis.distributed.tensor": "tensors that are divided among ranks",
    "genesis.distributed.tensor.parallel": "layers that are divided among ranks",
    "genesis.distributed.parallel": "the original names of data parallel training",
    "genesis.utils.data.distributed": "samplers for several processes",
    "genesis.debug": "looking at graphs and models",
    "genesis.profiler": "where the time goes",
    "genesis.testing": "comparing tensors",
    "genesis.memory": "the allocator",
    "genesis.cuda": "for scripts that ask",
    "genesis.init": "tensors, for programs of the original Genesis",
    "genesis.functional": "functions, for programs of the original Genesis",
    "genesis.function": "custom functions, for programs of the original Genesis",
    "genesis.dtypes": "dtypes by name",
    "genesis.client": "for programs of GT",
    "genesis.client.tensor": "tensors, for programs of GT",
    "genesis.client.autograd": "the graph, for programs of GT",
    "genesis.signals": "named scopes, for programs of GT",
    "genesis.config": "settings of scopes, for programs of GT",
}

# Names of `genesis` that stand nowhere here go to a page of their own.
FUNCTIONS = {
    "creation": ("genesis: making tensors", """
        tensor as_tensor asarray scalar_tensor from_numpy frombuffer from_dlpack zeros
        zeros_like ones ones_like full full_like empty empty_like empty_strided arange
        linspace logspace eye tril_indices triu_indices meshgrid cartesian_prod rand
        rand_like randn randn_like randint randint_like randperm normal bernoulli binomial
        poisson multinomial vander combinations"""),
    "pointwise": ("genesis: element by element", """
        abs absolute acos acosh add addcdiv addcmul arccos arccosh arcsin arcsinh arctan
        arctan2 arctanh asin asinh atan atan2 atanh bitwise_and bitwise_left_shift
        bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil clamp clamp_max
        clamp_min clip copysign cos cosh deg2rad digamma div divide erf erfc erfinv exp exp2
        expm1 fix float_power floor floor_divide fmax fmin fmod frac frexp gcd heaviside
        hypot i0 igamma igammac lcm ldexp lerp lgamma log log10 log1p log2 logaddexp logaddexp2 logical_and
        logical_not logical_or logical_xor logit maximum minimum mul multiply mvlgamma
        nan_to_num neg negative nextafter polygamma pow rad2deg reciprocal remainder round
        rsqrt rsub sgn sigmoid sign signbit sin sinc sinh sqrt square sub subtract tan tanh
        true_divide trunc where xlogy special_entr special_erfcx special_i0e special_i1
        special_i1e special_log_ndtr special_ndtr special_ndtri special_xlog1py special_zeta"""),
    "comparison": ("genesis: comparing and searching", """
        allclose argsort argwhere bucketize eq equal ge greater greater_equal gt isclose
        isfinite isin isinf isnan isneginf isposinf kthvalue le less less_equal lt msort ne
        nonzero not_equal searchsorted sort topk unique unique_consecutive"""),
    "reduction": ("genesis: reductions, scans, statistics", """
        all amax amin aminmax any argmax argmin bincount corrcoef count_nonzero cov cummax
        cummin cumprod cumsum cumulative_trapezoid diff histc histogram logcumsumexp
        logsumexp max mean median min mode nanmean nanmedian nanquantile nansum norm prod
        quantile softmax log_softmax softmin std std_mean sum trapezoid trapz var var_mean
        vector_norm"""),
    "shape": ("genesis: shapes, views, indexing", """
        as_strided atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes
        broadcast_tensors broadcast_to cat chunk clone column_stack concat concatenate
        constant_pad_nd detach diag diag_embed diagflat diagonal diagonal_scatter dsplit
        dstack flatten flip fliplr flipud gather hsplit hstack index_add index_copy
        index_fill index_put index_put_ index_reduce index_select masked_fill masked_scatter
        masked_select moveaxis movedim narrow numel permute put ravel repeat_interleave
        reshape resize_as_ roll rot90 row_stack scatter scatter_add scatter_reduce select
        select_scatter slice_scatter split split_with_sizes squeeze stack swapaxes swapdims
        t take take_along_dim tensor_split tile transpose tril triu unbind unflatten
        unsqueeze vsplit vstack"""),
    "matrix": ("genesis: products of matrices", """
        addbmm addmm addmv addr baddbmm bmm cdist cross det dist dot einsum geqrf ger inner
        inverse kron logdet lu_unpack matmul matrix_exp matrix_power mm mv orgqr outer
        pinverse slogdet tensordot trace vdot linalg_cholesky linalg_cond linalg_det
        linalg_eigh linalg_eigvalsh linalg_householder_product linalg_inv linalg_lstsq
        linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_matrix_exp
        linalg_matrix_norm linalg_matrix_power linalg_matrix_rank linalg_norm linalg_pinv
        linalg_qr linalg_slogdet linalg_solve linalg_solve_triangular linalg_svd
        linalg_svdvals linalg_vander linalg_vector_norm"""),
    "settings": ("genesis: types, modes, settings", """
        dtype bfloat16 bool double finfo float float16 float32 float64 half iinfo int int16
        int32 int64 int8 long short uint8 can_cast promote_types result_type
        get_default_dtype set_default_dtype device memory_format channels_last
        channels_last_3d contiguous_format preserve_format Size is_tensor is_floating_point
        is_complex is_same_size no_grad enable_grad set_grad_enabled is_grad_enabled
        inference_mode is_inference is_inference_mode_enabled Function Tape autocast
        enable_autocast clear_autocast_cache get_autocast_dtype set_autocast_dtype
        is_autocast_enabled is_autocast_cache_enabled set_autocast_cache_enabled
        is_anomaly_enabled is_anomaly_check_nan_enabled manual_seed seed initial_seed
        get_rng_state set_rng_state fork_rng Generator default_generator get_num_threads
        set_num_threads get_printoptions set_printoptions printoptions save load ShapeError
        DTypeError DivisionError e inf nan newaxis pi"""),
    "neural": ("genesis: functions of neural networks", """
        relu relu_ gelu silu selu selu_ celu celu_ elu leaky_relu prelu rrelu rrelu_
        softplus hardshrink threshold threshold_ dropout alpha_dropout feature_alpha_dropout
        linear bilinear embedding one_hot conv1d conv2d conv3d conv_transpose1d
        conv_transpose2d conv_transpose3d avg_pool1d max_pool1d max_pool2d max_pool3d
        layer_norm group_norm rms_norm cosine_similarity pairwise_distance pdist
        pixel_shuffle pixel_unshuffle channel_shuffle"""),
}  # fmt: skip

SUBJECTS = {
    "activation": "Activations",
    "adaptive": "Losses",
    "affine": "Linear",
    "attention": "Attention",
    "batchnorm": "Normalization",
    "classification": "Losses",
    "container": "Containers",
    "conv": "Convolution",
    "distance": "Distances",
    "dropout": "Dropout",
    "dropouts": "Dropout",
    "fold": "Convolution",
    "fractional": "Pooling",
    "lazy": "Lazy",
    "linear": "Linear",
    "linear_loss": "Losses",
    "lookup": "Embeddings",
    "loss": "Losses",
    "margin": "Losses",
    "module": "Modules",
    "native": "Activations",
    "normalization": "Normalization",
    "padding": "Padding",
    "parameter_container": "Containers",
    "piecewise": "Activations",
    "pooling": "Pooling",
    "rearrange": "Rearranging",
    "rnn": "Recurrent",
    "rnn_cell": "Recurrent",
    "shuffle": "Rearranging",
    "sync_batchnorm": "Normalization",
    "sparse": "Embeddings",
    "transformer": "Attention",
    "upsampling": "Resampling",
}

NATIVE = {"dropout": "Dropout", "linear": "Linear", "one_hot": "Embeddings"}
