"""Functions that the tests of this folder share."""

from genesis.autograd import Function


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return dy * y


class Mul(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, dz):
        x, y = ctx.saved_tensors
        return dz * y, dz * x


def function(forward, backward, name="Custom", **more):
    """A Function of two plain functions."""
    methods = {"forward": forward, "backward": backward, **more}
    return type(name, (Function,), {k: staticmethod(f) for k, f in methods.items()})
