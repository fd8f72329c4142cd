"""skorch: a classifier with the interface of scikit-learn."""

import numpy as np
import skorch
import torch

from .helpers import fill, wave


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)
        fill(self)

    def forward(self, x):
        return self.layer(x).softmax(-1)


def test_classifier(check, tmp_path):
    x, y = wave(24, 4).numpy(), np.arange(24) % 3
    net = skorch.NeuralNetClassifier(
        Net,
        max_epochs=3,
        lr=0.1,
        batch_size=8,
        iterator_train__shuffle=False,
        train_split=None,
        verbose=0,
    )
    net.fit(x, y)
    check(
        losses=[row["train_loss"] for row in net.history],
        chances=torch.tensor(net.predict_proba(x)),
    )
    net.save_params(f_params=tmp_path / "net.pt")
    net.load_params(f_params=tmp_path / "net.pt")
    assert net.predict(x).shape == (24,)
