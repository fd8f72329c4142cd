"""A run of `genesis.fit` that is slow enough to be stopped. Usage: fit_signal.py DIRECTORY SECONDS"""

import pathlib
import sys
import time

import genesis
from genesis import nn

folder, pause = pathlib.Path(sys.argv[1]), float(sys.argv[2])
genesis.manual_seed(0)
x = genesis.randn(96, 4)
y = (x.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 2))


class Slow:
    def on_step_end(self, trainer, measures):
        if trainer.step == 2 and trainer.is_main:
            (folder / "begun").touch()
        time.sleep(pause)


history = genesis.fit(
    model, (x, y), nn.CrossEntropyLoss(), epochs=4, batch_size=8, checkpoint=folder / "run",
    callbacks=[Slow()],
)  # fmt: skip
print(
    len(history), nn.utils.parameters_to_vector(model.parameters()).detach().double().sum().item()
)
print("ok")
