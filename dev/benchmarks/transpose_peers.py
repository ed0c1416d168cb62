"""GB/s (2 x bytes / time) of PyTorch and Triton on the cases that DeviceTransposeBenchmark names.

Reads lines `EXTENTS ORDER WIDTH`, such as `512x512x512 2,1,0 4`, from standard input, and prints a line
`TORCH TRITON` for each, `-` where a peer has no answer. PyTorch copies a permuted view into a dense
tensor; Triton runs a plain tile transpose of ours, the fastest of a few tile shapes, over the same
batch of matrices that our planner finds (it has no 16-byte type). Data is random, buffers rotate over
at least 1 GiB as in the Java benchmark, and the median of events is taken.
"""

import statistics
import sys

import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

TYPES = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}
TILES = [(32, 32, 4), (64, 64, 4), (64, 64, 8), (128, 128, 8), (128, 32, 4), (32, 128, 4)]
RUNS = 7

if triton:

    @triton.jit
    def transpose_tile(
        source, target, rows, cols, in_stride, out_stride, in_batch, out_batch, row_tiles,
        ROWS: tl.constexpr, COLS: tl.constexpr
    ):  # fmt: skip
        tile = tl.program_id(0).to(tl.int64)
        batch = tl.program_id(1).to(tl.int64)
        i = (tile % row_tiles) * ROWS + tl.arange(0, ROWS)
        j = (tile // row_tiles) * COLS + tl.arange(0, COLS)
        inside = (i[:, None] < rows) & (j[None, :] < cols)
        held = tl.load(source + batch * in_batch + i[:, None] * in_stride + j[None, :], mask=inside)
        tl.store(
            target + batch * out_batch + j[:, None] * out_stride + i[None, :],
            tl.trans(held),
            mask=tl.trans(inside),
        )


def median_seconds(work, pairs):
    """Seconds of one piece of work; `work(k)` queues it on buffer pair k."""
    seconds = []
    for run in range(-2, RUNS):
        torch.cuda._sleep(2_000_000)  # cycles: the device is busy while the host queues
        before = torch.cuda.Event(enable_timing=True)
        after = torch.cuda.Event(enable_timing=True)
        before.record()
        for k in range(pairs):
            work(k)
        after.record()
        after.synchronize()
        if run >= 0:
            seconds.append(before.elapsed_time(after) / 1e3 / pairs)
    return statistics.median(seconds)


def matrices(extents, order):
    """(batch, rows, cols, in stride, out stride, in batch, out batch) of a 2-D or 3-D case."""
    if len(extents) == 2:
        rows, cols = extents
        return 1, rows, cols, cols, rows, 0, 0
    x, y, z = extents
    if order == (0, 2, 1):
        return x, y, z, z, y, y * z, y * z
    if order == (1, 2, 0):
        return 1, x, y * z, y * z, x, 0, 0
    if order == (2, 0, 1):
        return 1, x * y, z, z, x * y, 0, 0
    if order == (2, 1, 0):
        return y, x, z, y * z, y * x, z, x
    return None


def measure(extents, order, width):
    count = 1
    for extent in extents:
        count *= extent
    size = count * width
    pairs = (1 << 30) // (2 * size) + 2
    sources = [
        torch.randint(-128, 128, (size,), dtype=torch.int8, device="cuda").view(TYPES[width])
        for _ in range(pairs)
    ]
    shape = [extents[axis] for axis in order]
    targets = [torch.empty(shape, dtype=TYPES[width], device="cuda") for _ in range(pairs)]
    views = [source.view(extents).permute(order) for source in sources]

    torch_seconds = median_seconds(lambda k: targets[k].copy_(views[k]), pairs)
    expected = targets[0].clone()

    triton_seconds = None
    plan = matrices(extents, order)
    if triton and plan and width <= 8:
        batch, rows, cols, in_stride, out_stride, in_batch, out_batch = plan
        for tile_rows, tile_cols, warps in TILES:
            row_tiles = triton.cdiv(rows, tile_rows)
            grid = (row_tiles * triton.cdiv(cols, tile_cols), batch)

            def work(k):
                transpose_tile[grid](
                    sources[k], targets[k], rows, cols, in_stride, out_stride, in_batch, out_batch,
                    row_tiles, ROWS=tile_rows, COLS=tile_cols, num_warps=warps
                )  # fmt: skip

            if batch > 65535:
                continue
            targets[0].zero_()
            work(0)
            if not torch.equal(targets[0], expected):
                print("Triton's result differs:", extents, order, width, file=sys.stderr)
                continue
            seconds = median_seconds(work, pairs)
            triton_seconds = min(seconds, triton_seconds or seconds)
    return [2 * size / seconds / 1e9 if seconds else None for seconds in (torch_seconds, triton_seconds)]


def main():
    for line in sys.stdin:
        extents, order, width = line.split()
        rates = measure(
            [int(extent) for extent in extents.split("x")],
            tuple(int(axis) for axis in order.split(",")),
            int(width),
        )
        print(*("%.1f" % rate if rate else "-" for rate in rates), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
