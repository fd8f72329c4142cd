"""torch_geometric: a graph convolution network on a small graph."""

import torch
import torch_geometric

from .helpers import fill, same_after_saving, train, wave


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch_geometric.nn.GCNConv(4, 8)
        self.second = torch_geometric.nn.GATConv(8, 3)

    def forward(self, data):
        return self.second(self.first(data.x, data.edge_index).relu(), data.edge_index)


def test_network(check, tmp_path):
    edges = torch.tensor([[0, 1, 2, 3, 4, 1, 2], [1, 0, 3, 2, 0, 4, 4]])
    data = torch_geometric.data.Data(
        x=wave(5, 4), edge_index=edges, y=torch.tensor([0, 1, 2, 1, 0])
    )
    net = fill(Net())
    out = net(data)
    losses = train(net, lambda: torch.nn.functional.cross_entropy(net(data), data.y), lr=0.1)
    check(out=out, losses=losses)
    same_after_saving(net, tmp_path)


def test_batches():
    items = [
        torch_geometric.data.Data(x=wave(n, 2), edge_index=torch.tensor([[0], [1]]))
        for n in (2, 3, 4)
    ]
    batch = next(iter(torch_geometric.loader.DataLoader(items, batch_size=3)))
    assert batch.batch.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert batch.edge_index.tolist() == [[0, 2, 5], [1, 3, 6]]
