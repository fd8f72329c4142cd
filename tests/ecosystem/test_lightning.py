"""lightning: a module trained by Trainer, with a checkpoint that is loaded again."""

import lightning
import torch

from .helpers import fill, wave


class Regression(lightning.LightningModule):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, 1)
        )

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


def test_fit(check, tmp_path):
    model = fill(Regression())
    data = torch.utils.data.TensorDataset(wave(16, 4), wave(16, 1, start=2.0))
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=4))
    check(weight=model.net[0].weight, loss=trainer.callback_metrics["loss"])
    again = Regression.load_from_checkpoint(trainer.checkpoint_callback.best_model_path)
    assert torch.equal(again.net[0].weight, model.net[0].weight)
