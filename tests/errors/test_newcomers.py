"""Mistakes that everybody makes once. The message says what came, what was expected, what to do.

A row is a name, the mistake, the kind of error or warning, and three patterns: the operation with
what came, what was expected instead, and the way out. All three must be found.
"""

import re
import warnings
from typing import NamedTuple

import genesis
import genesis.nn.functional as F
import numpy as np
import pytest
from genesis import nn, optim
from genesis.utils.data import DataLoader, Dataset, TensorDataset


class Mistake(NamedTuple):
    name: str
    code: str
    kind: type[BaseException]
    came: str
    expected: str
    way: str


MISTAKES = [
    # ---- shapes of layers
    Mistake("a picture into a linear layer", "nn.Linear(784, 10)(ones(32, 28, 28))", ValueError,
            r"linear: .*input of shape \(32, 28, 28\) has 28", "takes 784 features", r"input\.flatten\(1\), or nn\.Flatten\(\)"),
    Mistake("a convolution without Flatten after it", "nn.Sequential(nn.Conv2d(1, 4, 3), nn.Linear(2704, 10))(ones(2, 1, 28, 28))", ValueError,
            r"input of shape \(2, 4, 26, 26\) has 26", "takes 2704 features", r"nn\.Flatten\(\) before the layer"),
    Mistake("the wrong number of features", "nn.Linear(4, 2)(ones(5, 3))", ValueError,
            r"input of shape \(5, 3\) has 3", "takes 4 features", r"in_features=3, or reshape the input to \(\.\.\., 4\)"),
    Mistake("a weight the wrong way round", "F.linear(ones(5, 3), ones(3, 7))", ValueError,
            r"input of shape \(5, 3\)", r"weight is \(out_features, in_features\)", r"pass weight\.t\(\)"),
    Mistake("the wrong number of channels", "nn.Conv2d(3, 8, 3)(ones(1, 28, 28))", ValueError,
            r"conv2d: input of shape \(1, 28, 28\) has 1 channels in dimension 0", "takes 3", "make the layer with in_channels=1"),
    Mistake("channels last", "nn.Conv2d(3, 8, 3)(ones(2, 32, 32, 3))", ValueError,
            r"\(2, 32, 32, 3\) has 32 channels in dimension 1", "takes 3", r"input\.movedim\(-1, 1\)"),
    Mistake("a picture without channels", "nn.Conv2d(1, 8, 3)(ones(28, 28))", ValueError,
            r"got shape \(28, 28\)", r"must be \(batch, channels, height, width\)", r"input\.unsqueeze\(0\)"),
    Mistake("a batch of pictures without channels", "nn.Conv2d(1, 8, 3)(ones(16, 28, 28))", ValueError,
            r"\(16, 28, 28\) has 16 channels", "takes 1", r"input\.unsqueeze\(1\) for a batch of 16"),
    Mistake("a kernel larger than the picture", "nn.Conv2d(1, 8, 5)(ones(1, 1, 3, 3))", ValueError,
            r"input of shape \(1, 1, 3, 3\) has 3", "the kernel spans 5", "pad more, or take a smaller kernel"),
    Mistake("pooling once too often", "F.max_pool2d(ones(1, 1, 1, 1), 2)", ValueError,
            r"input of shape \(1, 1, 1, 1\)", "a window of 2 elements", "smaller kernel_size or more padding"),
    Mistake("a norm of other channels", "nn.BatchNorm2d(3)(ones(2, 4, 5, 5))", ValueError,
            r"got \(3,\), for input of shape \(2, 4, 5, 5\)", r"must have shape \(4,\)", "make the layer with that size"),
    Mistake("a norm of other dimensions", "nn.BatchNorm1d(3)(ones(2, 3, 4, 4))", ValueError,
            r"got shape \(2, 3, 4, 4\)", "expected 2D or 3D input", "the norm for as many dimensions"),
    Mistake("a batch of one", "nn.BatchNorm1d(3)(ones(1, 3))", ValueError,
            r"batch_norm: .*got input of shape \(1, 3\)", "more than one value per channel", r"use eval\(\), or a larger batch"),
    Mistake("a layer norm of another size", "nn.LayerNorm(5)(ones(2, 4))", ValueError,
            r"input of shape \(2, 4\)", r"normalized_shape \(5,\)", "the size of the last dimensions"),
    Mistake("an LSTM of another size", "nn.LSTM(4, 3)(ones(2, 3, 5))", RuntimeError,
            r"LSTM: input of shape \(2, 3, 5\)", "must have input_size=4", "input_size=5, or reshape"),
    Mistake("the state of an LSTM passed on", "nn.Linear(3, 2)(nn.LSTM(4, 3)(ones(2, 3, 4)))", TypeError,
            "got tuple", "must be a Tensor", "recurrent layers return output and state"),
    # ---- shapes of operations
    Mistake("matrices that do not fit", "ones(2, 3) @ ones(4, 5)", ValueError,
            r"matmul: .*x is \(2, 3\), y is \(4, 5\)", r"expected x\.shape\[-1\] == y\.shape\[-2\]", "transpose or reshape"),
    Mistake("a matrix that was not transposed", "ones(2, 3) @ ones(5, 3)", ValueError,
            r"x is \(2, 3\), y is \(5, 3\)", r"expected x\.shape\[-1\] == y\.shape\[-2\], got 3 and 5", r"x @ y\.mT"),
    Mistake("broadcasting from the left", "ones(4, 3) + ones(4)", ValueError,
            r"add: shapes \(4, 3\) and \(4,\)", "sizes must be equal or 1", r"unsqueeze\(-1\) to make \(4,\) \(4, 1\)"),
    Mistake("reshaping to another size", "ones(2, 3).reshape(4, 2)", ValueError,
            r"reshape: 6 elements of shape \(2, 3\)", r"\(4, 2\), which has 8", r"\(-1, 2\) would make it 3"),
    Mistake("a view of a transpose", "ones(2, 3).t().view(6)", ValueError,
            r"view: a tensor of shape \(3, 2\) and strides \(1, 3\)", "without a copy", r"use reshape\(\)"),
    Mistake("joining in the wrong dimension", "genesis.cat([ones(2, 3), ones(2, 4)])", ValueError,
            r"cat: tensor 1 of shape \(2, 4\)", "may differ in dimension 0 only", "choose another dim"),
    Mistake("joining without a list", "genesis.cat(ones(2), ones(2))", TypeError,
            r"cat\(\): argument 'tensors'", "a tuple or list of tensors, got genesis.Tensor",
            r"put the tensors in a list: \[x, y\]"),
    Mistake("stacking different shapes", "genesis.stack([ones(2), ones(3)])", ValueError,
            r"stack: tensor 1 has shape \(3,\)", "all must be equal", r"use cat\(\), or pad"),
    Mistake("a dimension that is not there", "ones(2, 3).sum(dim=2)", IndexError,
            "sum: dim 2", "a tensor of 2 dimensions", r"valid: -2\.\.1"),
    Mistake("an index behind the end", "ones(3, 2)[3]", IndexError,
            r"index 3 .* shape \(3, 2\)", "dimension 0 of size 3", r"valid: -3\.\.2"),
    Mistake("more indices than dimensions", "ones(3)[0, 0]", IndexError,
            r"a tensor of shape \(3,\): 2", "for 1 dimension", r"leave some out, or unsqueeze\(\)"),
    Mistake("lists of different lengths", "genesis.tensor([[1, 2], [3]])", ValueError,
            "tensor: .*got 1", "expected length 2 at depth 1", "pad the short ones"),
    Mistake("a size that is a float", "nn.Linear(10 / 2, 3)", TypeError,
            r"Linear: in_features .*got 5\.0", "must be an int", "// instead of /"),
    Mistake("a shape with a float in it", "genesis.zeros((2, 3.0))", TypeError,
            r"zeros\(\): .*got the float 3\.0", "an int or a tuple of ints", r"int\(\.\.\.\)"),
    # ---- dtypes and kinds
    Mistake("integers into a layer", "nn.Linear(4, 2)(ones(3, 4, dtype=genesis.int64))", TypeError,
            r"linear: .*int64 \(input\)", r"float32 \(weight\)", r"input\.to\(weight\.dtype\)"),
    Mistake("an array of float64 made a tensor", "nn.Linear(4, 2)(genesis.from_numpy(np.ones((3, 4))))", TypeError,
            r"float64 \(input\)", r"float32 \(weight\)", r"input\.to\(weight\.dtype\).*astype\('float32'\)"),
    Mistake("bytes of a picture into a layer", "nn.Conv2d(1, 8, 3)(ones(1, 1, 8, 8, dtype=genesis.uint8))", TypeError,
            "conv2d: .*got uint8", "must be floating", r"use input\.float\(\)"),
    Mistake("a list into a layer", "nn.Linear(2, 1)([1.0, 2.0])", TypeError,
            r"linear\(\): .*'input'.* got list", "must be a Tensor", r"genesis\.tensor\(\.\.\.\)"),
    Mistake("gradients of integers", "genesis.tensor([1, 2], requires_grad=True)", TypeError,
            "got int64", "only floating and complex tensors", r"use x\.float\(\)"),
    Mistake("words of an embedding as floats", "nn.Embedding(10, 3)(ones(3))", TypeError,
            "embedding: .*got float32", "must be int64 or int32", r"use index\.long\(\)"),
    Mistake("a word that is not in the table", "nn.Embedding(10, 3)(tensor([3, 10]))", IndexError,
            r"embedding: index 10 at position \(1,\)", "of size 10", r"valid: 0\.\.9"),
    Mistake("a device that is not there", "ones(2).to('cuda')", RuntimeError,
            "device: 'cuda' is not available", "computes on 'cpu'", r"genesis\.cuda\.is_available\(\)"),
    Mistake("a model on a device that is not there", "nn.Linear(2, 2).cuda()", RuntimeError,
            "device: 'cuda' is not available", "computes on 'cpu'", "leave the device out"),
    Mistake("a truth value of many", "bool(ones(3) > 0)", ValueError,
            r"a tensor of shape \(3,\) with 3 elements", "is ambiguous", r"use any\(\), all\(\) or item\(\)"),
    Mistake("item of many", "ones(3).item()", ValueError,
            r"item: a tensor of shape \(3,\) holds 3", "only one can be converted", r"Use tolist\(\)"),
    # ---- losses
    Mistake("labels as floats", "F.cross_entropy(ones(4, 3), genesis.zeros(4))", ValueError,
            r"cross_entropy: .*got \(4,\)", r"class numbers must be integers", r"use target\.long\(\)"),
    Mistake("labels as a column", "F.cross_entropy(ones(4, 3), genesis.zeros(4, 1).long())", ValueError,
            r"got \(4, 1\)", r"target must be \(4,\)", r"use target\.reshape\(4,\)"),
    Mistake("labels as one-hot integers", "F.cross_entropy(ones(4, 3), genesis.zeros(4, 3).long())", ValueError,
            r"got \(4, 3\)", r"target must be \(4,\)", r"target\.argmax\(1\)"),
    Mistake("labels of another batch", "F.cross_entropy(ones(4, 3), genesis.zeros(5).long())", ValueError,
            r"got \(5,\)", r"target must be \(4,\)", "must come from one batch"),
    Mistake("labels counted from one", "F.cross_entropy(ones(2, 3), tensor([1, 3]))", IndexError,
            "cross_entropy: target 3", r"valid: 0\.\.2", "count classes from 0, or give the last layer more outputs"),
    Mistake("arguments of a loss swapped", "F.cross_entropy(tensor([0, 1]), ones(2, 3))", ValueError,
            r"got \(2, 3\)", r"must have the input's shape \(2,\)", "input comes first, target second"),
    Mistake("a loss that was not made", "nn.CrossEntropyLoss(ones(2, 3), tensor([0, 1]))", TypeError,
            r"got a tensor of shape \(2,\)", "must be a bool", r"nn\.CrossEntropyLoss\(\)\(input, target\)"),
    Mistake("a reduction that is none", "F.mse_loss(ones(2), ones(2), reduction='avg')", ValueError,
            "mse_loss: .*got 'avg'", "reduction must be", "'none', 'mean' or 'sum'"),
    Mistake("scores in place of probabilities", "F.binary_cross_entropy(tensor([2.0, 0.5]), ones(2))", ValueError,
            r"got values from 0\.5 to 2", "must be probabilities between 0 and 1", r"apply sigmoid\(\) first, or use binary_cross_entropy_with_logits"),
    Mistake("a column of scores, a row of targets", "F.binary_cross_entropy_with_logits(ones(4, 1), ones(4))", ValueError,
            r"input is \(4, 1\), target is \(4,\)", "must have the same shape", r"use target\.reshape\(input\.shape\)"),
    Mistake("a squared error that is broadcast", "F.mse_loss(ones(4, 1), ones(4))", UserWarning,
            r"mse_loss: target is \(4,\) and input is \(4, 1\)", r"broadcast to \(4, 4\)", "give them the same shape"),
    # ---- gradients
    Mistake("backward twice", "loss = (w * w).sum()\nloss.backward()\nloss.backward()", RuntimeError,
            "the graph of 'mul'", "has been freed by an earlier backward", r"retain_graph=True .*detach\(\)"),
    Mistake("backward of many", "(w * 2).backward()", RuntimeError,
            r"backward: the tensor has shape \(2,\)", "pass gradient= of that shape", r"reduce it to a scalar first, e\.g\. with \.sum\(\)"),
    Mistake("backward of a constant", "ones(2).sum().backward()", UserWarning,
            r"this tensor of shape \(\) does not require grad", "not made from one that does", r"call requires_grad_\(\) on an input"),
    Mistake("backward of what no_grad made", "with genesis.no_grad():\n    loss = (w * w).sum()\nloss.backward()", UserWarning,
            "backward: nothing was computed", "does not require grad", r"outside no_grad\(\)"),
    Mistake("zero_grad forgotten", "p = nn.Parameter(ones(2))\no = optim.SGD([p], lr=0.1)\nfor _ in range(2):\n    (p * p).sum().backward()\n    o.step()", UserWarning,
            r"SGD\.step: backward\(\) added to the gradients of the step before", "which are still there", r"optimizer\.zero_grad\(\) before every backward"),
    Mistake("grad of what is no leaf", "y = w * 2\ny.sum().backward()\ny.grad", UserWarning,
            "grad: a tensor made by MulBackward is no leaf", "gradients of leaves only", r"retain_grad\(\) on it before backward\(\)"),
    Mistake("a leaf changed in place", "w += 1", RuntimeError,
            "add_: a leaf tensor that requires grad", "cannot be changed in place", r"with genesis\.no_grad\(\):"),
    Mistake("a saved tensor changed in place", "y = w.exp()\ny += 1\ny.sum().backward()", RuntimeError,
            r"a tensor of shape \(2,\) that 'exp' saved", r"changed in place by 'add_'", r"out-of-place form there, or clone\(\)"),
    Mistake("an array of a tensor in a graph", "w.numpy()", RuntimeError,
            r"numpy: a tensor of shape \(2,\) that requires grad", "cannot become an array", r"tensor\.detach\(\)\.numpy\(\)"),
    Mistake("a copy of a result", "import copy\ncopy.deepcopy(w * 2)", RuntimeError,
            r"a tensor of shape \(2,\) made by <MulBackward>", "only leaves can", r"x\.detach\(\), or x\.clone\(\)"),
    Mistake("a gradient of what was not used", "genesis.autograd.grad((w * 2).sum(), ones(2).requires_grad_())", RuntimeError,
            r"grad: input 0 of shape \(2,\)", "was not used", "allow_unused=True"),
    Mistake("a gradient of another shape", "(w * 2).backward(ones(3))", ValueError,
            r"gradient has shape \(3,\)", r"the tensor has shape \(2,\)", "a gradient of the tensor's shape"),
    Mistake("a NaN", "with genesis.autograd.check_finite():\n    loss = (w - 2).log().sum()", RuntimeError,
            "log: NaN in the result", "input 0: float32 .* all finite: min -1", "at <newcomer>:2"),
    # ---- modules
    Mistake("super().__init__() forgotten", "class Net(nn.Module):\n    def __init__(self):\n        self.layer = nn.Linear(2, 2)\nNet()", AttributeError,
            "Net: ", r"Module\.__init__\(\) was not called", r"call super\(\)\.__init__\(\) first in Net\.__init__\(\)"),
    Mistake("a module without forward", "class Net(nn.Module):\n    pass\nNet()(ones(2))", NotImplementedError,
            r"Module \[Net\]", 'is missing the required "forward"', r"define Net\.forward\(self, \.\.\.\)"),
    Mistake("forward misspelled", "class Net(nn.Module):\n    def foward(self, x):\n        return x\nNet()(ones(2))", NotImplementedError,
            r"Module \[Net\]", 'is missing the required "forward"', r"rename foward\(\)"),
    Mistake("a list of modules called", "nn.ModuleList([nn.ReLU()])(ones(2))", NotImplementedError,
            r"Module \[ModuleList\]", "it only holds modules", "loop over them, use Sequential"),
    Mistake("a list into Sequential", "nn.Sequential([nn.Linear(2, 2), nn.ReLU()])", TypeError,
            "Sequential: .*list", "is not a Module", r"Sequential\(\*layers\)"),
    Mistake("a class into Sequential", "nn.Sequential(nn.Linear(2, 2), nn.ReLU)", TypeError,
            "got the class ReLU", "expected a module", r"make one of it: ReLU\(\)"),
    Mistake("percent of dropout", "nn.Dropout(50)", ValueError,
            "Dropout: .*got 50", "between 0 and 1", r"p=0\.5"),
    Mistake("a state dict with a prefix", "nn.Linear(2, 2).load_state_dict({'module.weight': ones(2, 2), 'module.bias': ones(2)})", RuntimeError,
            'Unexpected key.*"module.weight"', 'Missing key.*"weight", "bias"', r"k\.removeprefix\('module\.'\)"),
    Mistake("a state dict that lacks a key", "nn.Linear(2, 2).load_state_dict({'weight': ones(2, 2)})", RuntimeError,
            "loading state_dict for Linear", r'Missing key\(s\) in state_dict: "bias"', "strict=False"),
    Mistake("a state dict of other shapes", "nn.Linear(2, 2).load_state_dict({'weight': ones(3, 2), 'bias': ones(2)})", RuntimeError,
            r"weight: .*shape \(3, 2\)", r"current model is \(2, 2\)", "Build the model with the sizes of the checkpoint"),
    Mistake("a path in place of a state dict", "nn.Linear(2, 2).load_state_dict('model.pt')", TypeError,
            "load_state_dict: .*got str", "must be a dict", r"genesis\.load\(path\)"),
    Mistake("a module in place of a state dict", "nn.Linear(2, 2).load_state_dict(nn.Linear(2, 2))", TypeError,
            "got Linear", "must be a dict", r"module\.state_dict\(\)"),
    # ---- optimizers and data
    Mistake("a module into an optimizer", "optim.SGD(nn.Linear(2, 2), lr=0.1)", TypeError,
            "SGD: .*got the module Linear", "an iterable of tensors", r"model\.parameters\(\)"),
    Mistake("the learning rate first", "optim.Adam(0.1)", TypeError,
            r"Adam: .*got 0\.1", "an iterable of tensors", r"model\.parameters\(\) first"),
    Mistake("layers hidden in a list", "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layers = [nn.Linear(2, 2)]\noptim.SGD(Net().parameters(), lr=0.1)", ValueError,
            "SGD: there are no parameters", "params is empty", r"nn\.ModuleList"),
    Mistake("clipping a module", "nn.utils.clip_grad_norm_(nn.Linear(2, 2), 1.0)", TypeError,
            "got the module Linear", "an iterable of tensors", r"model\.parameters\(\)"),
    Mistake("the schedule before the optimizer", "o = optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)\noptim.lr_scheduler.StepLR(o, 1).step()", UserWarning,
            r"StepLR\.step\(\) was called before", "the first learning rate of the schedule is skipped", r"call optimizer\.step\(\) first"),
    Mistake("a dataset without length", "class Rows(Dataset):\n    def __getitem__(self, i):\n        return i\nDataLoader(Rows(), shuffle=True)", TypeError,
            "DataLoader: .*the dataset Rows has no length", "drawn by number", r"define Rows\.__len__"),
    Mistake("samples of different shapes", "list(DataLoader([ones(1), ones(2)], batch_size=2))", ValueError,
            r"default_collate: .*\[\(1,\), \(2,\)\]", "differ in shape", "a collate_fn that pads them"),
    Mistake("tensors of different lengths", "TensorDataset(ones(3), ones(4))", ValueError,
            r"TensorDataset: .*\[\(3,\), \(4,\)\]", "tensors of one length", "the same first dimension"),
    # ---- names
    Mistake("a misspelled function", "genesis.arrange(3)", AttributeError,
            "'arrange'", "has no attribute", r"did you mean 'arange'\?"),
    Mistake("a misspelled argument", "genesis.zeros(3, requiresgrad=True)", TypeError,
            r"zeros\(\): .*'requiresgrad'", "unexpected keyword argument", "signature: .*requires_grad=False"),
]  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name.replace(" ", "_"))
def test_the_message_of_a_mistake(mistake):
    names = {
        "genesis": genesis, "F": F, "nn": nn, "optim": optim, "np": np, "ones": genesis.ones,
        "tensor": genesis.tensor, "w": genesis.ones(2, requires_grad=True), "Dataset": Dataset,
        "DataLoader": DataLoader, "TensorDataset": TensorDataset,
    }  # fmt: skip
    code = compile(mistake.code, "<newcomer>", "exec")
    if issubclass(mistake.kind, Warning):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            exec(code, names)
        (message,) = [str(w.message) for w in caught if issubclass(w.category, mistake.kind)]
    else:
        with pytest.raises(mistake.kind) as error:
            exec(code, names)
        message = str(error.value)
    for part in (mistake.came, mistake.expected, mistake.way):
        assert re.search(part, message, re.DOTALL), f"{part!r} is not in: {message}"


def test_there_are_enough_of_them():
    assert len({m.name for m in MISTAKES}) == len(MISTAKES) >= 40


def test_gradients_that_are_zeroed_in_place_are_not_old():
    p = nn.Parameter(genesis.ones(2))
    optimizer = optim.SGD([p], lr=0.1)
    for _ in range(3):  # warnings are errors here
        (p * p).sum().backward()
        optimizer.step()
        p.grad.zero_()


def test_gradients_may_be_added_up_before_a_step():
    p = nn.Parameter(genesis.ones(2))
    optimizer = optim.SGD([p], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad(set_to_none=False)
        for _ in range(2):
            (p * p).sum().backward()
        optimizer.step()
