"""GT's signatures, with `import genesis as gt`."""

import io

import genesis as gt
import numpy as np
import pytest


def test_creation():
    assert gt.tensor([1.0, 2.0], dtype="float32", requires_grad=True).requires_grad
    assert gt.randn(2, 3, dtype="float32", requires_grad=False).shape == (2, 3)
    assert gt.zeros(2, 3).sum().item() == 0 and gt.ones(2, 3).sum().item() == 6
    assert gt.cat([gt.ones(1, 2), gt.zeros(1, 2)], axis=1).shape == (1, 4)
    x = gt.from_numpy(np.ones(3, "float32"), requires_grad=True)
    assert x.requires_grad
    with gt.no_grad():
        assert not (x * 2).requires_grad


def test_servers_and_workers():
    with pytest.warns(UserWarning, match="tensors stay in this process"):
        gt.connect("localhost:12345")
    for bad in ("localhost", "localhost:", ":80", "host:port"):
        with pytest.raises(ValueError, match="host:port"):
            gt.connect(bad)
    before = gt.get_num_threads()
    gt.gpu_workers(1)
    assert gt.get_num_threads() == 1
    gt.set_num_threads(before)
    with pytest.raises(ValueError, match="gpu_workers"):
        gt.gpu_workers(0)


def test_tensor_module():
    from genesis.client.tensor import (
        Tensor,
        TensorData,
        cat,
        from_numpy,
        is_grad_enabled,
        ones,
        randn,
        set_grad_enabled,
        zeros,
    )

    assert Tensor is gt.Tensor and is_grad_enabled()
    with set_grad_enabled(enabled := False):
        assert is_grad_enabled() is enabled
    data = TensorData(np.arange(6.0).reshape(2, 3))
    assert data.shape == (2, 3) and data.dtype == np.float64 and data.numpy()[1, 0] == 3
    assert np.asarray(data).shape == (2, 3)
    assert Tensor(shape=(2, 3), dtype="float32", requires_grad=True).requires_grad
    assert cat([zeros(1), ones(1)], axis=0).tolist() == [0, 1] and randn(2).shape == (2,)
    assert from_numpy(np.ones(2), requires_grad=False).shape == (2,)


def test_tensor_methods():
    a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=np.float32)
    x = gt.tensor(a)
    for name, expected in (("exp", np.exp), ("log", np.log), ("tanh", np.tanh), ("sqrt", np.sqrt)):
        np.testing.assert_allclose(getattr(x, name)().numpy(), expected(a), rtol=1e-6)
    assert (x - 3).relu().tolist() == np.maximum(a - 3, 0).tolist()
    np.testing.assert_allclose(x.sigmoid().numpy(), 1 / (1 + np.exp(-a)), rtol=1e-6)
    for name in ("sum", "mean", "max"):
        assert (
            getattr(x, name)(axis=1, keepdims=True).tolist()
            == getattr(a, name)(1, keepdims=True).tolist()
        )
        assert getattr(x, name)().item() == getattr(a, name)()
    np.testing.assert_allclose(
        x.std(axis=0, keepdims=True).numpy(), a.std(0, ddof=1, keepdims=True)
    )
    np.testing.assert_allclose(x.std(dim=1, unbiased=False).numpy(), a.std(1), rtol=1e-6)
    assert x.reshape(3, 2).shape == x.view(3, 2).shape == (3, 2)
    assert x.unsqueeze(0).squeeze(dim=0).shape == (2, 3) and x.unsqueeze(1).squeeze().shape == (
        2,
        3,
    )
    assert (
        x.transpose().tolist()
        == x.T.tolist()
        == x.transpose(dim0=0, dim1=1).tolist()
        == a.T.tolist()
    )
    assert gt.ones(2, 3, 4).transpose().shape == (2, 4, 3) and x.permute(1, 0).shape == (3, 2)
    assert [p.shape for p in x.split(split_size=2, dim=1)] == [(2, 2), (2, 1)]
    assert [p.tolist() for p in gt.split(x, split_size=1)] == [[a[0].tolist()], [a[1].tolist()]]
    assert len(x.chunk(chunks=3, dim=1)) == 3 and x[0, 0].item() == 1
    assert x.data.numpy().tolist() == a.tolist() and x.grad is None
    assert x.clone().zero_().tolist() == np.zeros_like(a).tolist()
    assert x.requires_grad_(requires_grad=True).requires_grad


def test_manual_updates_and_gradients_afterwards():
    w = gt.nn.Parameter(gt.tensor([1.0, 2.0]))
    for _ in range(3):
        (w * w).sum().backward()
        w -= 0.1 * w.grad
        assert w.grad is not None and w.is_leaf and w.requires_grad
        w.grad.zero_()
    np.testing.assert_allclose(w.detach().numpy(), np.array([1, 2]) * 0.8**3, rtol=1e-6)


def test_nn_module():
    from genesis.client import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 1, bias=True)

        def forward(self, x):
            return nn.sigmoid(self.layer(x))

    net = Net()
    p, y = net(gt.ones(3, 2)), gt.tensor([[1.0], [0.0], [1.0]])
    assert len(net.parameters()) == 2
    loss = nn.binary_cross_entropy(p, y)
    np.testing.assert_allclose(
        loss.item(), -(y * p.log() + (1 - y) * (1 - p).log()).mean().item(), rtol=1e-5
    )
    loss.backward()
    assert net.layer.weight.grad is not None
    net.zero_grad()
    assert net.layer.weight.grad is None
    assert nn.mse_loss(gt.ones(2), gt.zeros(2)).item() == 1
    logits = gt.zeros(2, 4)
    np.testing.assert_allclose(
        nn.cross_entropy_loss(logits, gt.tensor([0, 1])).item(), np.log(4), rtol=1e-6
    )
    assert nn.relu(gt.tensor([-1.0])).item() == 0 and nn.tanh(gt.zeros(1)).item() == 0


def test_autograd_module():
    from genesis.client.autograd import AutogradGraph, get_graph, no_grad

    graph = get_graph()
    assert graph is get_graph() and isinstance(graph, AutogradGraph) and graph.enabled
    x = gt.tensor([3.0], requires_grad=True)
    y = x.detach() ** 2
    graph.record(y, [x], lambda grad: [grad * 2 * x])
    assert y.requires_grad and len(graph.tape) >= 1
    graph.backward(y.sum())
    assert x.grad.tolist() == [6]
    with graph.no_grad():
        assert not graph.enabled
        graph.record(z := gt.ones(1), [x], lambda grad: [grad])
        assert not z.requires_grad
    with no_grad():
        assert not (x * 2).requires_grad
    with pytest.raises(RuntimeError, match="recorded already"):
        graph.record(x * 2, [x], lambda grad: [grad])


def test_debug(capsys):
    x = gt.ones(2, requires_grad=True)
    y = (x * 2).sum()
    assert len(gt.debug.get_tape()) >= 2 and y.requires_grad
    gt.debug.print_tape()
    assert capsys.readouterr().out
    stats = gt.debug.get_worker_stats()
    assert (
        stats["local"]["threads"] == gt.get_num_threads()
        and stats["local"]["memory"]["allocated"] > 0
    )
    gt.debug.print_worker_stats()
    assert "Worker local" in capsys.readouterr().out
    gt.debug.print_worker_stats(out := io.StringIO())
    assert "threads" in out.getvalue()


def test_signals():
    from genesis.signals import (
        SignalScope,
        SignalStack,
        context,
        current_backward_signal,
        current_signal,
        enter,
        exit,
        get_signal_stack,
        tensor,
    )

    stack = SignalStack()
    assert stack.pop() is None and stack.current() is None and stack.current_name() is None
    stack.push(scope := SignalScope("a", backward_name="b"))
    assert stack.current() is scope and stack.current_name() == "a"
    assert stack.current_backward_name() == "b" and stack.pop() is scope
    assert get_signal_stack() is gt.signals.get_signal_stack() and current_signal() is None
    with context("layer1", backward="layer1_bwd"):
        assert current_signal() == "layer1" and current_backward_signal() == "layer1_bwd"
        with context("inner"):
            assert current_signal() == "inner" and current_backward_signal() is None
        enter("by_hand")
        with pytest.raises(RuntimeError, match="innermost scope is 'by_hand'"):
            exit("layer1")
        exit("by_hand")
    assert current_signal() is None
    with pytest.raises(RuntimeError, match="no scope to leave"):
        exit("layer1")
    x = gt.ones(1)
    assert tensor(x, "layer1", backward_name="b") is x and x._signal_name == "layer1"


def test_config(tmp_path, monkeypatch):
    from genesis.config import (
        Config,
        ShardConfig,
        SignalConfig,
        get_config,
        get_signal_config,
        load_config,
        register_config,
    )

    assert (ShardConfig().axis, ShardConfig().workers, ShardConfig().replicated) == (0, None, False)
    assert SignalConfig() == SignalConfig(shard=None, backward_signal=None, compile=False)
    path = tmp_path / "config.yaml"
    path.write_text(
        '{"layer1": {"shard": {"axis": 1, "workers": [0, 1]}, "backward": "b", "compile": true}}'
    )
    config = Config()
    config.load(path)
    assert config.has_signal("layer1") and config.get_signal("none") is None
    assert config.get_signal("layer1") == SignalConfig(ShardConfig(1, [0, 1]), "b", True)
    config.clear()
    assert not config.has_signal("layer1")
    monkeypatch.setenv("GT_CONFIG", str(path))
    config.load_from_env(env_var="GT_CONFIG")
    assert config.has_signal("layer1")
    config.register_signal("mine", SignalConfig(compile=True))
    assert config.get_signal("mine").compile
    load_config(str(path)), register_config("mine", SignalConfig())
    assert get_signal_config("layer1").backward_signal == "b" and get_config().has_signal("mine")
    get_config().clear()
    with pytest.raises(FileNotFoundError):
        config.load(tmp_path / "missing.yaml")
    path.write_text('{"layer1": {"shards": 3}}')
    with pytest.raises(ValueError, match="unknown settings"):
        config.load(path)


def test_settings_of_scopes():
    """A scope takes the backward name from its settings, and says once what they cannot change."""
    import genesis
    from genesis import signals
    from genesis.config import ShardConfig, SignalConfig, get_config, register_config

    register_config("whole", SignalConfig(ShardConfig(1, [0]), backward_signal="whole_back"))
    register_config("cut", SignalConfig(ShardConfig(0, [0, 1]), compile=True))
    try:
        with signals.context("whole"):
            assert signals.current_backward_signal() == "whole_back"
        with signals.context("whole", backward="other"):
            assert signals.current_backward_signal() == "other"
        with pytest.warns(UserWarning, match="'cut'.*2 workers.*compile"), signals.context("cut"):
            assert signals.current_signal() == "cut"
        with signals.context("cut"):  # once is enough
            pass
        marked = signals.tensor(genesis.ones(1), "whole")
        assert marked._backward_signal_name == "whole_back"
    finally:
        get_config().clear()
        signals._noted.clear()


def test_names_of_arguments():
    from genesis.client.nn import binary_cross_entropy, cross_entropy_loss, mse_loss
    from genesis.client.tensor import Tensor, is_grad_enabled, set_grad_enabled

    x = Tensor(tensor_id=None, shape=(2, 3), dtype="float32", requires_grad=True)
    assert x.shape == (2, 3) and x.requires_grad
    with pytest.raises(ValueError, match="tensor_id"):
        Tensor(tensor_id=7)
    with set_grad_enabled(enabled=False):
        assert not is_grad_enabled()
    p = gt.tensor([0.25, 0.75])
    assert mse_loss(predicted=p, target=p).item() == 0
    assert binary_cross_entropy(predicted=p, target=gt.tensor([0.0, 1.0])).item() > 0
    assert cross_entropy_loss(logits=gt.zeros(1, 2), targets=gt.tensor([0])).item() > 0
