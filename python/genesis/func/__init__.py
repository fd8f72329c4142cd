"""Function transforms: derivatives and vectorization of functions, which can be nested.

>>> from genesis.func import grad, jacfwd, jacrev, vmap
>>> grad(grad(lambda x: x**3))(genesis.tensor(1.0))
tensor(6.)
>>> jacfwd(jacrev(lambda x: (x**3).sum()))(genesis.tensor([1.0, 2.0]))
tensor([[ 6.,  0.],
        [ 0., 12.]])
>>> vmap(grad(lambda x: x**3))(genesis.tensor([1.0, 2.0]))
tensor([ 3., 12.])
"""

from genesis._missing import explain
from genesis._named_errors import name_errors
from genesis.func._forward import jacfwd, jvp, linearize
from genesis.func._module import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from genesis.func._rearrange import rearrange
from genesis.func._reverse import grad, grad_and_value, hessian, hvp, jacrev, value_and_grad, vjp
from genesis.func._vmap import debug_unwrap, functionalize, vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]

explain(globals())
name_errors(__all__, globals())
