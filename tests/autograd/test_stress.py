"""Everything at once, at random, in several threads, with exceptions anywhere: nothing stays."""

import contextlib
import gc
import random
import threading

import genesis
from genesis.autograd import Function, Tape, grad
from genesis.autograd.graph import get_gradient_edge, saved_tensors_hooks

THREADS, ROUNDS = 4, 60


class Trouble(Exception):
    pass


class Story:
    """One thread's random uses of functions, hooks, tapes and packed tensors."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def chance(self, p):
        return self.rng.random() < p

    def anything(self):
        """What may happen wherever the user's code runs."""
        if self.chance(0.02):
            raise Trouble
        if self.chance(0.004):
            gc.collect()
        if self.chance(0.02):
            with genesis.enable_grad():
                x = genesis.ones(2, requires_grad=True)
                (x * x).sum().backward()

    def function(self):
        story = self

        class Scale(Function):
            @staticmethod
            def forward(ctx, x, others, factor=1.0):
                story.anything()
                y = x * factor
                ctx.factor = factor
                if story.chance(0.3):
                    ctx.cycle = (ctx, y)
                ctx.save_for_backward(x, y, *others)
                if story.chance(0.3):
                    ctx.mark_non_differentiable(z := y + 1)
                    return [y, z, x]
                return (y, y, x[:1]) if story.chance(0.3) else (y, x, None)

            @staticmethod
            def backward(ctx, dy, *rest):
                story.anything()
                _, _, *others = ctx.saved_tensors
                return dy * ctx.factor, [dy * 0 + 1 for _ in others], None

        return Scale

    def add_hooks(self, t):
        handles = []

        def hook(g):
            self.anything()
            if self.chance(0.3):
                handles[self.rng.randrange(len(handles))].remove()
            return g * 1 if self.chance(0.5) else None

        handles.append(t.register_hook(hook))
        if t.grad_fn is not None:
            handles.append(t.grad_fn.register_prehook(lambda gs: self.anything()))
            handles.append(
                t.grad_fn.register_hook(lambda gi, go: self.anything() or (t.shape and None))
            )
            t.grad_fn.metadata["result"] = t
        else:
            handles.append(t.register_post_accumulate_grad_hook(lambda p: self.anything()))
        if self.chance(0.3):
            t.retain_grad()

    def compute(self, leaves, scale):
        pool = list(leaves)
        for _ in range(self.rng.randrange(1, 10)):
            a, b, kind = self.rng.choice(pool), self.rng.choice(pool), self.rng.randrange(6)
            if kind == 0:
                pool += [
                    t
                    for t in scale.apply(a, [b, leaves[0]], factor=2.0)
                    if t is not None and t.shape == (3,)
                ]
            elif kind == 1:
                pool.append(a * b)
            elif kind == 2:
                pool.append(a.exp().tanh())
            elif kind == 3:
                pool.append((a * 1).mul_(b))
            elif kind == 4 and a.requires_grad:
                self.add_hooks(a)
            else:
                pool.append(genesis.cat([a, b])[1:4])
        return pool, sum(t.sum() for t in pool)

    def round(self):
        leaves = [genesis.ones(3, requires_grad=self.chance(0.7)) for _ in range(3)]
        scale, tape = self.function(), Tape()
        packing = saved_tensors_hooks(
            lambda t: (self.anything(), t.clone()), lambda p: (self.anything(), p[1])[1]
        )
        on_tape, packed = self.chance(0.4), self.chance(0.4)
        if on_tape:
            tape.start_recording()
        try:
            if packed:
                with packing:
                    pool, loss = self.compute(leaves, scale)
            else:
                pool, loss = self.compute(leaves, scale)
        finally:
            if on_tape:
                tape.stop_recording()
        if not loss.requires_grad:
            return
        for _ in range(2):
            create_graph = self.chance(0.3)
            with contextlib.suppress(Trouble):
                if on_tape:
                    tape.backward(loss, retain_graph=True, create_graph=create_graph)
                else:
                    loss.backward(retain_graph=True, create_graph=create_graph)
        wanted = [get_gradient_edge(t) if self.chance(0.5) else t for t in pool if t.requires_grad]
        grad(loss, wanted, allow_unused=True)

    def run(self):
        for _ in range(ROUNDS):
            with contextlib.suppress(Trouble):
                self.round()


def test_random_use_in_several_threads_leaves_nothing_behind():
    gc.collect()
    before, errors = genesis.memory.allocated(), []

    def work(seed):
        try:
            Story(seed).run()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    gc.collect()
    gc.collect()  # what finalizers dropped
    assert genesis.memory.allocated() == before
    assert genesis.is_grad_enabled()
    assert not (genesis.ones(1) * 2).requires_grad
