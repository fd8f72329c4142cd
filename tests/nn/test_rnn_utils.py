"""Padding and packing sequences of different lengths."""

import genesis
import numpy as np
import pytest
from genesis.autograd import gradcheck
from genesis.nn.utils import rnn


def sequences(rng, lengths, *shape):
    return [genesis.tensor(rng.normal(size=(n, *shape)), dtype=genesis.float64) for n in lengths]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
@pytest.mark.parametrize("batch_first", [False, True])
def test_packing_and_back(shape, batch_first, rng):
    parts = sequences(rng, (2, 5, 1, 5), *shape)
    padded = rnn.pad_sequence(parts, batch_first)
    packed = rnn.pack_padded_sequence(padded, [2, 5, 1, 5], batch_first, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [4, 3, 2, 2, 2]
    assert packed.data.shape == (13, *shape)
    again, lengths = rnn.pad_packed_sequence(packed, batch_first)
    assert lengths.tolist() == [2, 5, 1, 5]
    np.testing.assert_array_equal(again.numpy(), padded.numpy())
    for a, b in zip(rnn.unpack_sequence(packed), parts, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_order_of_rows_is_step_by_step():
    packed = rnn.pack_sequence(
        [genesis.tensor([1, 2, 3]), genesis.tensor([4, 5]), genesis.tensor([6])]
    )
    assert packed.data.tolist() == [1, 4, 6, 2, 5, 3]
    assert packed.sorted_indices is None and packed.unsorted_indices is None


def test_padding_value_total_length_and_side(rng):
    parts = sequences(rng, (1, 3))
    left = rnn.pad_sequence(parts, True, -1.0, padding_side="left").numpy()
    np.testing.assert_array_equal(left[0], [-1, -1, parts[0].numpy()[0]])
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    padded, lengths = rnn.pad_packed_sequence(packed, padding_value=7.0, total_length=5)
    assert padded.shape == (5, 2) and lengths.tolist() == [1, 3]
    assert padded[1:, 0].tolist() == [7.0] * 4 and padded[3:, 1].tolist() == [7.0] * 2


def test_gradient_passes_through_packing(rng):
    x = genesis.tensor(rng.normal(size=(4, 3, 2)), dtype=genesis.float64, requires_grad=True)

    def there_and_back(x):
        packed = rnn.pack_padded_sequence(x, [2, 4, 1], enforce_sorted=False)
        data = packed.data
        padded, _ = rnn.pad_packed_sequence(packed._replace(data=data * data))
        return data, padded

    assert gradcheck(there_and_back, x, order=2)


def test_packed_sequence_is_a_named_tuple():
    packed = rnn.pack_sequence([genesis.tensor([1.0, 2.0]), genesis.tensor([3.0])])
    data, sizes, order, back = packed
    assert (data.tolist(), sizes.tolist(), order, back) == ([1.0, 3.0, 2.0], [2, 1], None, None)
    assert packed.double().data.dtype == genesis.float64
    assert packed.float() is packed and packed.cpu() is packed and not packed.is_cuda


def test_errors_say_what_is_wrong():
    x = genesis.ones(4, 2, 3)
    with pytest.raises(RuntimeError, match="must not grow, got .*enforce_sorted=False"):
        rnn.pack_padded_sequence(x, [2, 4])
    with pytest.raises(ValueError, match="exceeds the 4 steps"):
        rnn.pack_padded_sequence(x, [5, 4])
    with pytest.raises(ValueError, match="3 lengths for input of shape"):
        rnn.pack_padded_sequence(x, [3, 2, 1])
    with pytest.raises(ValueError, match="above 0"):
        rnn.pack_padded_sequence(x, [3, 0])
    with pytest.raises(ValueError, match="total_length=1 is below"):
        rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [2, 1]), total_length=1)
    with pytest.raises(ValueError, match="at least one sequence"):
        rnn.pad_sequence([])
    with pytest.raises(ValueError, match="'left' or 'right'"):
        rnn.pad_sequence([genesis.ones(2)], padding_side="middle")
    with pytest.raises(ValueError, match="2 lengths for 4 sequences"):
        rnn.unpad_sequence(x, [1, 2], batch_first=True)


def test_same_as_torch(rng):
    torch = pytest.importorskip("torch")
    arrays = [rng.normal(size=(n, 2)) for n in (3, 1, 4)]
    ours = rnn.pack_sequence(
        [genesis.tensor(a, dtype=genesis.float64) for a in arrays], enforce_sorted=False
    )
    theirs = torch.nn.utils.rnn.pack_sequence(
        [torch.tensor(a) for a in arrays], enforce_sorted=False
    )
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
