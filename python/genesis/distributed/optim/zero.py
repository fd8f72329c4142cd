"""ZeroRedundancyOptimizer: every rank keeps the state of its share of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.distributed import _call, _objects
from genesis.distributed._work import Steps, Work
from genesis.distributed._world import member
from genesis.distributed.checkpoint._files import Piece
from genesis.optim.optimizer import Optimizer, StateDict

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer that updates a share of the parameters and gets the others from their ranks.

    ``optimizer_class(params, **defaults)`` is made for the share, so its state takes 1/N of the
    memory on each of N ranks. Gradients must be the same on all ranks, as
    `DistributedDataParallel` leaves them.

    >>> genesis.distributed.init_process_group()
    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = ZeroRedundancyOptimizer([p], genesis.optim.SGD, lr=0.5)
    >>> p.sum().backward()
    >>> optimizer.step()
    >>> p.tolist()
    [0.5, 0.5]
    >>> genesis.distributed.destroy_process_group()
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: Callable[..., Optimizer],
        process_group: Any = None,
        **defaults: Any,
    ) -> None:
        group = member(process_group, "ZeroRedundancyOptimizer")
        if group is None:
            raise ValueError("ZeroRedundancyOptimizer: this rank is not in process_group")
        if not callable(optimizer_class):
            raise TypeError(
                "ZeroRedundancyOptimizer: optimizer_class must be a class of optimizers, got "
                f"{optimizer_class!r}"
            )
        self.process_group = group
        self._full: StateDict | None = None
        self._building = True
        super().__init__(params, defaults)
        self._building = False
        self._optimizer_class = optimizer_class
        self._share()

    def _share(self) -> None:
        """Give each parameter to the rank with the least, the largest first."""
        params = [p for group in self.param_groups for p in group["params"]]
        load = [0] * self.process_group.size()
        self.owner: dict[int, int] = {}
        for p in sorted(params, key=lambda p: -p.numel()):
            rank = load.index(min(load))
            load[rank] += p.numel()
            self.owner[id(p)] = rank
        mine = self.process_group.rank()
        self._order = params
        self._places: list[int] = []  # the numbers of the groups of which this rank has a share
        groups = []
        for number, group in enumerate(self.param_groups):
            share = [p for p in group["params"] if self.owner[id(p)] == mine]
            if share:
                self._places.append(number)
                groups.append({**group, "params": share})
        names = {"params", "param_names"}
        for group in groups:
            group.pop("param_names", None)
        self.optim = self._optimizer_class(groups, **self.defaults) if groups else None
        reference = self.optim
        if reference is None:  # the options of an optimizer without parameters
            reference = self._optimizer_class([_C.zeros(1, requires_grad=True)], **self.defaults)
            for group in self.param_groups:
                for key, value in reference.param_groups[0].items():
                    group.setdefault(key, value) if key not in names else None
        else:
            for number, inner in zip(self._places, reference.param_groups, strict=True):
                for key, value in inner.items():
                    if key not in names:
                        self.param_groups[number].setdefault(key, value)
            filled = self.param_groups[self._places[0]]
            for group in self.param_groups:
                for key, value in filled.items():
                    if key not in names:
                        group.setdefault(key, value)
        if self.optim is not None:
            self.state = self.optim.state

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with their own options; the shares are only computed at the start."""
        if not self._building:
            raise RuntimeError(
                "ZeroRedundancyOptimizer: pass all groups of parameters when it is made"
            )
        super().add_param_group(param_group)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the share of this rank, and exchange the parameters."""
        result = None
        if closure is not None and self.optim is None:
            with _C.enable_grad():
                result = closure()
        if self.optim is not None:
            for number, inner in zip(self._places, self.optim.param_groups, strict=True):
                for key, value in self.param_groups[number].items():
                    if key not in ("params", "param_names"):
                        inner[key] = value
            result = self.optim.step(closure) if closure is not None else self.optim.step()
        self._exchange()
        return result

    def _exchange(self) -> None:
        group = self.process_group
        if group.size() == 1:
            return
        works = []
        for rank in range(group.size()):
            by_dtype: dict[Any, list[Tensor]] = {}
            for p in self._order:
                if self.owner[id(p)] == rank and p.numel():
                    by_dtype.setdefault(p.dtype, []).append(p.detach())
            for dtype, members in by_dtype.items():
                size = sum(p.numel() for p in members)
                record = _call.record("broadcast", dtype, (size,), root=rank)
                works.append(Work(group.queue, record, self._send(members, size, rank, record)))
        for work in works:
            work.wait()

    def _send(self, members: list[Tensor], size: int, rank: int, record: bytes) -> Steps:
        mine = self.process_group.rank() == rank
        flat = (
            _C.cat([p.reshape(-1) for p in members])
            if mine
            else _C.empty(size, dtype=members[0].dtype)
        )
        yield from self.process_group.broadcast(flat, rank, record, checked=False)
        if mine:
            return
        begin = 0
        for p in members:
            p.copy_(flat[begin : begin + p.numel()].reshape(p.shape))
            begin += p.numel()

    # ---- state ----------------------------------------------------------------------------------

    def _packed_groups(self) -> list[dict[str, Any]]:
        number = {id(p): i for i, p in enumerate(self._order)}
        packed = []
        for group in self.param_groups:
            plain = {k: v for k, v in group.items() if k != "params"}
            packed.append({**plain, "params": [number[id(p)] for p in group["params"]]})
        return packed

    def local_state_dict(self) -> dict[int, dict[str, Any]]:
        """The state of this rank's share, by the number of the parameter."""
        state = {} if self.optim is None else self.optim.state
        return {
            i: dict(state[p])
            for i, p in enumerate(self._order)
            if self.owner[id(p)] == self.process_group.rank() and p in state
        }

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the full state on the rank ``to``, for `state_dict` there. All ranks call it."""
        group = self.process_group
        found: list[Any] = [None] * group.size() if group.ranks[group.rank()] == to else []
        _objects.gather_object(self.local_state_dict(), found or None, to, group)
        self._full = None
        if found:
            state: dict[int, dict[str, Any]] = {}
            for part in found:
                state.update(part)
            self._full = {
                "state": dict(sorted(state.items())),
                "param_groups": self._packed_groups(),
            }

    def state_dict(self) -> StateDict:
        """The full state, in the layout of any optimizer, after `consolidate_state_dict`."""
        if self._full is None:
            if self.process_group.size() == 1:
                return {"state": self.local_state_dict(), "param_groups": self._packed_groups()}
            raise RuntimeError(
                "ZeroRedundancyOptimizer.state_dict: call consolidate_state_dict(to=rank) on all "
                "ranks first, then state_dict() on that rank"
            )
        return self._full

    def sharded_state_dict(self) -> StateDict:
        """The full state, of which each rank holds its share. All ranks call it.

        `genesis.distributed.checkpoint` writes it in parallel; what it reads is whole.
        """
        local = self.local_state_dict()
        outline = {
            i: {
                k: (tuple(v.shape), v.dtype) if isinstance(v, Tensor) else v
                for k, v in values.items()
            }
            for i, values in local.items()
        }
        outlines: list[Any] = [None] * self.process_group.size()
        _objects.all_gather_object(outlines, outline, self.process_group)
        state: dict[int, dict[str, Any]] = {}
        for part in outlines:
            for i, values in part.items():
                state[i] = {}
                for k, v in values.items():
                    if isinstance(v, tuple) and len(v) == 2 and isinstance(v[1], _C.dtype):
                        own = local[i][k] if i in local else None
                        state[i][k] = Piece(own, (0,) * len(v[0]), v[0], v[1])
                    else:
                        state[i][k] = v
        return {"state": dict(sorted(state.items())), "param_groups": self._packed_groups()}

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Load this rank's share of a full state, also of one from a plain optimizer."""
        groups = state_dict["param_groups"]
        sizes = [len(g["params"]) for g in groups]
        own = [len(g["params"]) for g in self.param_groups]
        if sizes != own:
            raise ValueError(
                f"load_state_dict: the groups hold {sizes} parameters, this optimizer's hold {own}"
            )
        for group, saved in zip(self.param_groups, groups, strict=True):
            group.update({k: v for k, v in saved.items() if k != "params"})
        if self.optim is None:
            return
        numbers = [n for g in groups for n in g["params"]]
        by_param = {id(p): n for p, n in zip(self._order, numbers, strict=True)}
        inner = self.optim.state_dict()
        state = {}
        place = 0
        for group in self.optim.param_groups:
            for p in group["params"]:
                saved = state_dict["state"].get(by_param[id(p)])
                if saved is not None:
                    state[place] = saved
                place += 1
        self.optim.load_state_dict({"state": state, "param_groups": inner["param_groups"]})
        self.state = self.optim.state
        self._full = None
