"""Introductions of the pages and sections of the reference, in English and Chinese."""

# ruff: noqa: E501, RUF001

from __future__ import annotations

INTRODUCTIONS: dict[str, tuple[str, str]] = {
    # pages
    "index": (
        "Every public name, from its docstring, with arguments, types and an example. Names that "
        "PyTorch has mean what they mean there.",
        "每一个公开名称，来自其文档字符串，附有参数、类型和示例。PyTorch 也有的名称含义与其相同。",
    ),
    "tensor": (
        "A tensor is an array of numbers of one dtype with any number of dimensions. Functions of "
        "``genesis`` that take a tensor first are methods too; methods that end in ``_`` work in "
        "place.",
        "张量是具有一种 dtype、任意维数的数字数组。``genesis`` 中以张量为第一个参数的函数同时也是方法；"
        "以 ``_`` 结尾的方法原位修改张量。",
    ),
    "creation": (
        "Functions that make tensors: from data, of a given shape, as ranges, and of random "
        "numbers. All take ``dtype=``, ``device=`` and ``requires_grad=``.",
        "创建张量的函数：由数据、按给定形状、作为区间以及随机数。它们都接受 ``dtype=``、``device=`` 和 "
        "``requires_grad=``。",
    ),
    "pointwise": (
        "Functions of each element. Arguments are broadcast against each other, dtypes are "
        "promoted by PyTorch's rules, and all are differentiable unless they say otherwise.",
        "逐元素的函数。参数相互广播，dtype 按 PyTorch 的规则提升；除非另有说明，都可求导。",
    ),
    "comparison": (
        "Comparisons, which return bool tensors, and searching, sorting and counting.",
        "返回布尔张量的比较，以及查找、排序和计数。",
    ),
    "reduction": (
        "Functions that make one number of many: over all elements, or over the dimensions "
        "``dim``. ``keepdim=True`` keeps these with size 1. Scans keep the results on the way.",
        "把许多数变成一个数的函数：对所有元素，或沿维度 ``dim``。``keepdim=True`` 保留大小为 1 的维度。"
        "扫描函数保留中间结果。",
    ),
    "shape": (
        "Other shapes of the same elements, parts of tensors, and several tensors joined into one. "
        "Views share memory with their input.",
        "相同元素的其他形状、张量的部分，以及把多个张量连接成一个。视图与其输入共享内存。",
    ),
    "matrix": (
        "Products of vectors, matrices and stacks of matrices. Decompositions are in "
        "``genesis.linalg``.",
        "向量、矩阵和成批矩阵的乘积。矩阵分解在 ``genesis.linalg`` 中。",
    ),
    "neural": (
        "Functions of neural networks that PyTorch also has under ``torch``; all of them are in "
        "``genesis.nn.functional``.",
        "PyTorch 在 ``torch`` 下也提供的神经网络函数；全部函数都在 ``genesis.nn.functional`` 中。",
    ),
    "settings": (
        "Dtypes and devices, gradient modes, threads, random state, printing and other settings.",
        "dtype 与设备、梯度模式、线程、随机状态、打印以及其他设置。",
    ),
    "namespaces": (
        "Modules that programs written for PyTorch import. Their names mean what they mean there; "
        "what needs a GPU, a compiler or the network raises when it is used.",
        "为 PyTorch 编写的程序所导入的模块。它们的名称含义与 PyTorch 相同；需要 GPU、编译器或网络的功能"
        "在使用时报错。",
    ),
    "nn": (
        "Layers, losses and containers. A layer is a ``Module`` with parameters; it is called with "
        "a batch of inputs.",
        "层、损失和容器。层是带有参数的 ``Module``；以一批输入调用它。",
    ),
    "nn.functional": (
        "The functions behind the layers, without parameters of their own.",
        "层背后的函数，自身不带参数。",
    ),
    "nn.init": (
        "Initial values of parameters, written in place.",
        "参数的初始值，原位写入。",
    ),
    "nn.utils": (
        "Helpers for models: clipping gradients, parameters as one vector, normalized weights.",
        "模型的辅助函数：梯度裁剪、把参数作为一个向量、权重归一化。",
    ),
    "optim": (
        "Optimizers change parameters against their gradients. ``step()`` is one native call for "
        "all parameters.",
        "优化器沿梯度的反方向改变参数。``step()`` 对所有参数只进行一次本地调用。",
    ),
    "optim.lr_scheduler": (
        "Schedules change the learning rate of an optimizer over the epochs or steps of training.",
        "学习率调度器在训练的轮次或步骤中改变优化器的学习率。",
    ),
    "autograd": (
        "Gradients of recorded computations, gradient modes, checks, and functions with gradients "
        "of their own.",
        "已记录计算的梯度、梯度模式、检查，以及带有自定义梯度的函数。",
    ),
    "func": (
        "Transforms that turn a function into another: its gradient, Jacobian, Hessian.",
        "把一个函数变成另一个函数的变换：其梯度、雅可比矩阵、黑塞矩阵。",
    ),
    "distributions": (
        "Probability distributions with sampling, densities and divergences, differentiable by "
        "their parameters.",
        "概率分布：采样、密度和散度，可对参数求导。",
    ),
    "linalg": (
        "Decompositions, solvers and norms of matrices and stacks of matrices.",
        "矩阵与成批矩阵的分解、求解和范数。",
    ),
    "special": (
        "Special functions of mathematics and statistics, element by element.",
        "数学和统计中的特殊函数，逐元素计算。",
    ),
    "amp": (
        "Mixed precision: operations in bfloat16 or float16 where that is safe.",
        "混合精度：在安全之处以 bfloat16 或 float16 计算。",
    ),
    "debug": (
        "Graphs, the steps of a backward pass, gradient norms and summaries of models.",
        "计算图、反向传播的步骤、梯度范数和模型摘要。",
    ),
    "training": (
        "``fit`` trains a model in one call; ``Trainer`` is the class underneath, with callbacks.",
        "``fit`` 一次调用即可训练模型；``Trainer`` 是其底层的类，支持回调。",
    ),
    "metrics": (
        "Metrics over whole data sets: updated batch by batch, merged, and gathered from all ranks.",
        "整个数据集上的指标：逐批更新、可合并，并可汇总所有进程的结果。",
    ),
    "report": (
        "Reports of training runs in one HTML file, for loops of your own too.",
        "以单个 HTML 文件呈现的训练报告，也适用于自己编写的循环。",
    ),
    "data": (
        "Datasets, samplers and loaders with PyTorch's names, and readers of files on disk.",
        "数据集、采样器和加载器，名称与 PyTorch 相同，以及磁盘文件的读取器。",
    ),
    "data.transforms": (
        "Changes of images, single or in batches: sizes, crops, flips, colours, mixtures.",
        "对单张或成批图像的变换：大小、裁剪、翻转、颜色、混合。",
    ),
    # sections of nn and nn.functional
    "Activations": (
        "Nonlinear functions of each element, between the linear layers of a network.",
        "逐元素的非线性函数，位于网络的线性层之间。",
    ),
    "Attention": (
        "Attention weighs values by how well queries fit keys; transformers are made of it.",
        "注意力根据查询与键的匹配程度对值加权；Transformer 由它构成。",
    ),
    "Containers": ("Modules made of other modules.", "由其他模块组成的模块。"),
    "Convolution": (
        "Filters that slide over signals (N, C, L), images (N, C, H, W) or volumes "
        "(N, C, D, H, W).",
        "在信号 (N, C, L)、图像 (N, C, H, W) 或体数据 (N, C, D, H, W) 上滑动的滤波器。",
    ),
    "Distances": ("Distances and similarities of pairs of vectors.", "成对向量的距离与相似度。"),
    "Dropout": (
        "Random elements or channels become zero during training, as a regularizer.",
        "训练时随机把元素或通道置零，作为正则化。",
    ),
    "Embeddings": ("Tables whose rows are looked up by integers.", "以整数查找其行的表。"),
    "Lazy": (
        "Layers whose input size is found at the first call.",
        "在首次调用时确定输入大小的层。",
    ),
    "Linear": ("Products with a matrix of weights, and a bias.", "与权重矩阵的乘积，加上偏置。"),
    "Losses": (
        "How far outputs are from targets: one number to minimize, or one for each element with "
        "``reduction='none'``.",
        "输出与目标的差距：一个要最小化的数，或以 ``reduction='none'`` 对每个元素给出一个数。",
    ),
    "Modules": ("The base class of layers and models.", "层和模型的基类。"),
    "Normalization": (
        "Layers that give activations mean 0 and variance 1 over a batch, channels or features.",
        "使激活在批次、通道或特征上均值为 0、方差为 1 的层。",
    ),
    "Padding": ("Borders around signals, images and volumes.", "信号、图像和体数据四周的边框。"),
    "Pooling": (
        "The maximum or mean over windows of signals, images or volumes.",
        "信号、图像或体数据各窗口上的最大值或均值。",
    ),
    "Rearranging": ("The same elements in another arrangement.", "相同元素的另一种排列。"),
    "Recurrent": (
        "Layers that read sequences step by step and carry a state.",
        "逐步读取序列并携带状态的层。",
    ),
    "Resampling": ("Images and signals of another size.", "改变图像和信号的大小。"),
}


def introduction(name: str, language: str) -> str:
    """The introduction of a page or section as reStructuredText, or nothing."""
    texts = INTRODUCTIONS.get(name)
    return "" if texts is None else texts[language.startswith("zh")] + "\n\n"
