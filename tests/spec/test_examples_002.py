"""Every example of document 002 that Genesis is specified by."""

import genesis
import numpy as np


def test_002_attrs():
    x = genesis.randn(3, requires_grad=True)
    y = x * 2
    assert x.creator is None and y.creator is not None and x.data.requires_grad is False


def test_002_out_grad_kw():
    x = genesis.randn(3, requires_grad=True)
    y = x * 2
    y.backward(out_grad=genesis.tensor([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(x.grad.numpy(), [2.0, 4.0, 6.0])


def test_002_matmul_basic():
    x = genesis.randn(3, 4, requires_grad=True)
    y = genesis.randn(4, 2, requires_grad=True)
    z = x @ y
    z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.ones((3, 2)) @ y.detach().numpy().T, rtol=1e-5)
    assert y.grad.shape == (4, 2)


def test_002_matmul_function():
    class MatMul(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        def backward(ctx, grad_output):
            a, b = ctx.saved_tensors
            return grad_output @ b.T, a.T @ grad_output

    a = genesis.randn(3, 4, requires_grad=True)
    b = genesis.randn(4, 2, requires_grad=True)
    MatMul.apply(a, b).sum().backward()
    np.testing.assert_allclose(b.grad.numpy(), a.detach().numpy().T @ np.ones((3, 2)), rtol=1e-5)


def test_002_add_function_broadcast():
    class Add(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.a_shape = a.shape
            ctx.b_shape = b.shape
            return a + b

        @staticmethod
        def backward(ctx, grad_output):
            grad_a = grad_output
            grad_b = grad_output
            for i, (da, db) in enumerate(zip(ctx.a_shape, ctx.b_shape, strict=False)):
                if da == 1 and db > 1:
                    grad_a = grad_a.sum(axis=i, keepdims=True)
                elif db == 1 and da > 1:
                    grad_b = grad_b.sum(axis=i, keepdims=True)
            return grad_a, grad_b

    a = genesis.randn(3, 1, requires_grad=True)
    b = genesis.randn(1, 4, requires_grad=True)
    Add.apply(a, b).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), np.full((3, 1), 4.0))
    np.testing.assert_allclose(b.grad.numpy(), np.full((1, 4), 3.0))


def test_002_custom_quadratic():
    class CustomFunction(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, input_tensor):
            ctx.save_for_backward(input_tensor)
            return input_tensor**2 + 2 * input_tensor + 1

        @staticmethod
        def backward(ctx, grad_output):
            (input_tensor,) = ctx.saved_tensors
            return grad_output * (2 * input_tensor + 2)

    x = genesis.randn(3, 4, requires_grad=True)
    CustomFunction.apply(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy() + 2, rtol=1e-5)


def test_002_tuple_out_idx():
    class Two(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grad_output, out_idx=None):
            return grad_output * (2 if out_idx == 0 else 3)

    x = genesis.randn(3, requires_grad=True)
    a, b = Two.apply(x)
    (a.sum() + b.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(3, 5.0))


def test_000_tuple_star_grads():
    class Two(genesis.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, *grad_outputs):
            return grad_outputs[0] * 2 + grad_outputs[1] * 3

    x = genesis.randn(3, requires_grad=True)
    a, b = Two.apply(x)
    (a.sum() + b.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(3, 5.0))


def test_002_function_list_arg():
    class Cat2(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, ts):
            return ts[0] + ts[1]

        @staticmethod
        def backward(ctx, g):
            return g, g

    a = genesis.randn(3, requires_grad=True)
    b = genesis.randn(3, requires_grad=True)
    Cat2.apply([a, b]).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), np.ones(3))
    np.testing.assert_allclose(b.grad.numpy(), np.ones(3))


def test_002_hooks_monitor_clip():
    seen = []

    def monitor_grad(grad):
        seen.append(f"{grad.mean():.4f} {grad.std():.4f}")

    def clip_grad(grad):
        grad.data.clamp_(-1.0, 1.0)

    x = genesis.randn(10, requires_grad=True)
    x.register_hook(monitor_grad)
    x.register_hook(clip_grad)
    (x**3).sum().backward()
    assert seen
    np.testing.assert_allclose(
        x.grad.numpy(), np.clip(3 * x.detach().numpy() ** 2, -1, 1), rtol=1e-5
    )


def test_002_hook_inplace_on_expanded_grad():
    x = genesis.randn(4, requires_grad=True)
    x.register_hook(lambda g: (g.clamp_(-0.5, 0.5), None)[1])
    x.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(4, 0.5))


def test_002_inplace_ops():
    x = genesis.ones(3)
    x += 1
    x *= 3
    np.testing.assert_allclose(x.numpy(), np.full(3, 6.0))


def test_002_views():
    x = genesis.zeros(2, 3)
    x.reshape(6).add_(1)
    np.testing.assert_allclose(x.numpy(), np.ones((2, 3)))
