from tests.ops.op import Op

OPS: list[Op] = []
