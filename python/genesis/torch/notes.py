"""What Genesis does differently from PyTorch, and why names are absent.

A name that exists in Genesis never reaches a rule of ``ABSENT``, so a rule whose names have been
added since does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ABSENT", "DIFFERENT", "Absent"]


@dataclass(frozen=True)
class Absent:
    """Why some names are absent. ``names`` are patterns below ``torch.``; the first match "
    "counts."""

    topic: str  # for lists
    names: str
    why: str
    instead: str


ABSENT = [
    Absent(
        "TorchScript",
        "*Type AliasDb Argument ArgumentSpec Block CallStack Capsule Code CompilationUnit "
        "Compl*Spec "
        "ConcreteModule* DeepCopyMemoTable ErrorReport ExecutionPlan FileCheck FunctionSchema "
        "Gradient Graph GraphExecutorState IODescriptor JITException LiteScriptModule *Logger* "
        "ModuleDict OperatorInfo BufferDict ParameterDict Script* StaticModule TracingState Type "
        "Use "
        "Value AVG SUM *StorageContext parse_* merge_type* unify_type* import_ir* fork wait "
        "jit.* BenchmarkConfig BenchmarkExecutionStats",
        "it belongs to the TorchScript compiler, which Genesis does not have",
        "functions run as they are; genesis.jit.script and genesis.jit.trace return them unchanged",
    ),
    Absent(
        "Quantized tensors",
        "ao.* quantization quantization.* *quantize* quantized_* q_* QInt* QUInt* "
        "qscheme "
        "*int_repr fake_* fused_moving* choose_qparams* per_channel_* per_tensor_*",
        "Genesis has no quantized tensors",
        "use genesis.bfloat16 or genesis.float16 to halve the size of a model: "
        "model.to(genesis.bfloat16)",
    ),
    Absent(
        "Dtypes without arithmetic",
        "bits* bit int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7",
        "PyTorch itself can only store this dtype",
        "use genesis.uint8 and shifts",
    ),
    Absent(
        "Sparse tensors",
        "sparse sparse.* *sparse* *coalesce* *col_indices* *crow_indices* "
        "*row_indices* indices_copy values_copy indices values to_dense "
        "dense_dim sparse_dim *hsmm *dsmm *spmm *smm saddmm *sspaddmm optim.SparseAdam jagged",
        "Genesis has sparse COO, CSR and CSC tensors, but not this layout or function",
        "use genesis.sparse_coo_tensor or genesis.sparse_csr_tensor",
    ),
    Absent(
        "Nested tensors",
        "nested nested.* *to_padded_tensor",
        "Genesis has no nested tensors",
        "pad with nn.utils.rnn.pad_sequence and keep a mask, or use nn.utils.rnn.PackedSequence",
    ),
    Absent(
        "Named dimensions",
        "Tensor.name Tensor.names Tensor.align_* Tensor.refine_names Tensor.rename*",
        "Genesis has no named dimensions",
        "use the positions of dimensions, or einops",
    ),
    Absent(
        "Other devices",
        "accelerator.* cpu.* *mkldnn* *record_stream *_device_module mtia.* xpu.* has_* fbgemm_* "
        "AcceleratorError Tensor.cuda* thread_safe_generator random.thread_safe_generator "
        "utils.*privateuse1* profiler.DeviceType profiler_allow*",
        "it is about devices and libraries that Genesis does not use: it computes on the CPU",
        "leave the call out",
    ),
    Absent(
        "Export and deployment",
        "export export.* onnx.* package package.*",
        "Genesis does not export programs",
        "save the weights with genesis.save (PyTorch, safetensors) and rebuild the model where it "
        "runs",
    ),
    Absent(
        "Internal functions of PyTorch",
        "native_* *_native_* *batch_norm_* batch_norm_* convolution grid_sampler* DispatchKey* "
        "ExcludeDispatchKeyGuard Tag DisableTorchFunction* unsafe_* Tensor.unsafe_* slice_inverse "
        "Tensor.slice_inverse FatalError "
        "classproperty compiled_with_cxx11_abi get_file_path prepare_multiprocessing_environment "
        "init_num_threads norm_except_dim sym_* utils.set_module utils.get_cpp_backtrace "
        "nn.factory_kwargs nn.functional.assert_int_or_pair nn.functional.Broadcasting* "
        "nn.functional.has_torch* *ScalingType *SwizzleType Tensor.is_distributed is_distributed "
        "Tensor.module_load Tensor.const_data_ptr Tensor.is_set_to set_anomaly_enabled "
        "set_autocast_enabled autocast_* *hash_tensor overrides.redispatch_function "
        "nn.Module.T_destination nn.Module.dump_patches optim.Optimizer.Optimizer*Hook "
        "optim.Optimizer.profile_hook_step optim.swap_in* nn.attention.*flash* "
        "nn.attention.WARN* utils.dlpack.DLDeviceType utils.hooks.BackwardHook "
        "library.get_kernel fx.replace_pattern max_pool1d_with_indices StorageBase "
        "affine_grid_generator",
        "it is an internal part of PyTorch",
        "use the public function that calls it (F.batch_norm, F.conv2d, F.grid_sample, ...)",
    ),
    Absent(
        "Copies of views",
        "*_copy",
        "Genesis lacks functions that copy a view",
        "write the view and clone(): x.transpose(0, 1).clone()",
    ),
    Absent(
        "Functions of nn.functional under a second name",
        "adaptive_avg_pool1d adaptive_max_pool1d batch_norm instance_norm *_loss *_with_logits "
        "kl_div "
        "embedding_bag embedding_renorm_ *dropout* conv_tbc nn.functional.conv_tbc",
        "PyTorch has this function in nn.functional, and once more under torch",
        "use genesis.nn.functional",
    ),
    Absent(
        "Recurrent layers as functions",
        "gru lstm rnn_* gru_cell lstm_cell",
        "PyTorch's function takes its weights as an undocumented list",
        "use genesis.nn.GRU, LSTM, RNN and their cells",
    ),
    Absent(
        "Functions that PyTorch removed",
        "Tensor.eig eig Tensor.symeig symeig Tensor.lstsq lstsq Tensor.solve solve matrix_rank "
        "Tensor.volatile Tensor.reinforce nn.Container nn.NLLLoss2d range set_default_tensor_type "
        "testing.assert_allclose Tensor.resize Tensor.resize_as Tensor.storage_type "
        "autograd.*NestedIOFunction autograd.function.InplaceFunction distributed.reduce_op "
        "is_autocast_cpu_enabled get_autocast_cpu_dtype set_autocast_cpu_*",
        "PyTorch has removed or deprecated it",
        "use its successor: genesis.linalg for linear algebra, arange, testing.assert_close, "
        "amp.autocast",
    ),
    Absent(
        "Linear algebra under older names",
        "*cholesky* *lu *lu_solve *svd *qr *ormqr *triangular_solve *chain_matmul nuclear_norm "
        "frobenius_norm lobpcg linalg.*",
        "Genesis lacks this name",
        "see genesis.linalg: cholesky, eigh, inv, lu_factor, pinv, qr, solve, solve_triangular, "
        "svd",
    ),
    Absent(
        "Complex numbers",
        "fft fft.* *conj* *angle polar complex *view_as_* *real *imag *isreal Tensor.real "
        "Tensor.imag "
        "cdouble cfloat chalf Tensor.c* Complex* *adjoint *resolve_neg is_neg *stft",
        "Genesis lacks this function of complex numbers",
        "use genesis.complex64 or complex128, or compute with real and imaginary parts",
    ),
    Absent(
        "Windows",
        "signal signal.* *_window",
        "Genesis lacks this window",
        "take it from SciPy: genesis.from_numpy(scipy.signal.windows.hann(n))",
    ),
    Absent(
        "Special functions",
        "special.* *polygamma_",
        "Genesis lacks this special function",
        "use scipy.special outside the graph, or in an autograd.Function",
    ),
    Absent(
        "Control flow for compilers",
        "cond while_loop compiler.* sym_* utils.checkpoint.*",
        "it directs PyTorch's compiler, which Genesis does not have",
        "write Python's if and while; genesis.compile and utils.checkpoint.checkpoint exist",
    ),
    Absent(
        "Data pipes",
        "utils.data.*",
        "data pipes are deprecated in PyTorch",
        "use Dataset, IterableDataset and DataLoader",
    ),
    Absent(
        "Distributed training",
        "distributed.pipelining* distributed.rpc* distributed.*",
        "Genesis runs on MPI and has neither stores, RPC, pipelines nor PyTorch's own backends",
        "use genesis.distributed's collectives, DistributedDataParallel, fully_shard and "
        "checkpoint.save",
    ),
    Absent(
        "Result types",
        "return_types return_types.*",
        "results with several parts are named tuples of their own",
        "use the fields: x.max(0).values, x.sort().indices",
    ),
    Absent(
        "Measurement",
        "monitor monitor.* utils.benchmark utils.benchmark.* *ThroughputBenchmark "
        "profiler.ExecutionTraceObserver autograd.profiler.* utils.flop_counter.*",
        "Genesis has no such measuring tool",
        "use timeit, genesis.profiler.profile and utils.flop_counter.FlopCounterMode",
    ),
    Absent(
        "Files",
        "serialization.* from_file PyTorchFileWriter to_dlpack Storage",
        "Genesis has its own reader and writer",
        "use genesis.load and genesis.save; numpy.memmap with from_numpy maps a file",
    ),
    Absent(
        "Extensions in C++",
        "utils.cpp_extension.*",
        "extensions of PyTorch in C++ cannot be loaded",
        "write an autograd.Function, with NumPy, Numba or ctypes inside",
    ),
    Absent(
        "In place under torch",
        "*_",
        "Genesis has in-place forms as methods only where they are of use",
        "assign: x = genesis.abs(x), or use the method x.abs_()",
    ),
    Absent(
        "Other names",
        "* *.*",
        "Genesis does not have it",
        "express it with other operators, an autograd.Function or NumPy, or ask for it in an issue",
    ),
]

# (patterns, how it differs). tests/torch compares everything else with PyTorch.
DIFFERENT: list[tuple[str, str]] = [
    ("jit.* ScriptModule", "compiles nothing: functions run as they are"),
    (
        "compile compiler.compile",
        "records calls of kernels and replays them; the backends and modes are Genesis's own",
    ),
    ("onnx.export", "raises: there is no exporter; save the weights with genesis.save"),
    (
        "hub.load hub.list hub.help hub.load_state_dict_from_url hub.download_url_to_file",
        "loads from local folders; a download raises and says what to do",
    ),
    (
        "utils.cpp_extension.load utils.cpp_extension.load_inline utils.cpp_extension.*Extension",
        "raises when called: extensions of PyTorch in C++ cannot be loaded",
    ),
    ("ao.quantization.*", "a name that programs import; using it raises"),
    ("library.*triton*", "raises when used: there is no Triton"),
    ("Tensor.size", "an int, the number of elements, that can be called as PyTorch's method"),
    ("Tensor.stride", "a tuple that can be called as PyTorch's method"),
    ("Tensor.max Tensor.min max min", "axis= gives values only, as in NumPy; dim= is PyTorch's"),
    ("Tensor.transpose transpose", "also permutes by a tuple of all dimensions, as NumPy does"),
    ("tensor as_tensor asarray", "a NumPy float64 array becomes float32 unless dtype= is given"),
    ("Tensor.backward", "outside a graph it warns and does nothing; PyTorch raises"),
    ("amp.GradScaler GradScaler cpu.amp.GradScaler", "device is 'cpu' by default"),
    (
        "embedding dropout alpha_dropout feature_alpha_dropout group_norm layer_norm rrelu rrelu_ "
        "nn.functional.rrelu_",
        "has the parameters of the function of this name in nn.functional",
    ),
    ("lobpcg", "takes the pairs from a whole decomposition; options of the iteration do nothing"),
    ("nn.parameter.UninitializedTensorMixin", "a class of tensors; it makes none by itself"),
    ("nn.utils.skip_init", "parameters get their usual first values"),
    ("sparse.check_sparse_tensor_invariants", "indices are always checked"),
    ("sparse_bsr_tensor sparse_bsc_tensor", "raises: layouts of blocks are not supported"),
    ("mm bmm addmm baddbmm", "no out_dtype, which PyTorch has for GPUs"),
    ("gather Tensor.gather", "no sparse_grad: the gradient is dense"),
    ("norm functional.norm tensordot functional.tensordot", "out and dtype are keyword-only"),
    ("result_type", "the parameters are named tensor1 and tensor2 for numbers too"),
    (
        "load serialization.load",
        "executes nothing in files; weights_only=False gives data, except under the import shim",
    ),
    ("save serialization.save", "there is no pickle_module; the format follows the file's name"),
    ("*Storage storage.TypedStorage", "made from a storage and a dtype"),
    ("layout", "made from a name; PyTorch's cannot be called"),
    (
        "autograd.gradcheck autograd.gradgradcheck",
        "always in float64; options for batched, forward-mode and masked checks are absent",
    ),
    (
        "autograd.function.once_differentiable jit.interface library.impl_abstract",
        "other names of parameters",
    ),
    ("autograd.graph.GradientEdge", "a node and an index, without a token"),
    (
        "autograd.profiler.FunctionEvent profiler.profile",
        "records shapes, memory and FLOPs by default",
    ),
    ("profiler.schedule", "no skip_first_wait"),
    ("profiler.tensorboard_trace_handler", "no use_python_export"),
    ("compiler.*", "for genesis.compile; what only directs PyTorch's compiler has no effect"),
    ("distributed.*", "runs on MPI; options of PyTorch's own backends are absent"),
    (
        "nn.parallel.DistributedDataParallel",
        "runs on MPI; options of PyTorch's own backends are absent",
    ),
    ("functional.split", "genesis.functional.split has its own parameters"),
    ("fx.Tracer", "traces straight-line programs"),
    ("linalg.svd linalg.svdvals", "no driver, which PyTorch has for GPUs"),
    ("nn.attention.flex_attention.*", "computed by scaled_dot_product_attention with a mask"),
    (
        "nn.functional.*_pool*_with_indices",
        "return_indices is True by default; PyTorch ignores the argument",
    ),
    ("random.fork_rng", "device_type is accepted; there is one generator"),
    ("testing.make_tensor Tensor.cpu rand_like randn_like randint_like", "no memory_format"),
    ("Tensor.type", "no non_blocking: a copy is finished when it returns"),
    ("utils.data.random_split", "generator=None is the default generator"),
    ("func.jacrev library.infer_schema", "private options are absent"),
]
