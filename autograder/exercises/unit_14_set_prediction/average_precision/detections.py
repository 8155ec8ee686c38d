"""Draws targets, and detections of which some are right, some are late, and some are false."""

import numpy as np

GRID = 128  # boxes lie on it, so that bfloat16 holds them exactly
FEW = 60
TRIES = 400


def draw_detections(inputs, sizes, rng):
    """Targets of which two and two overlap, and detections near them, most of them several near one; no IoU is near to the
    threshold or to another that is above it."""
    N, M, threshold = sizes["N"], sizes["M"], inputs["threshold"]
    margin = 0.04 if max(N, M) < FEW else 0.002
    targets = np.stack([_box(rng) for _ in range(M)])
    for m in range(1, M, 2):
        targets[m] = _near(targets[m - 1], 0.12, rng)
    boxes = np.stack([_detection(targets, threshold, margin, rng) for _ in range(N)])
    scores = (1 + rng.permutation(max(N, FEW))[:N]) / (max(N, FEW) + 4)
    scores = np.round(scores * 64) / 64 if N < FEW else scores
    return {name: one.astype(np.float32) for name, one in (("scores", scores), ("boxes", boxes), ("targets", targets))}


def _box(rng):
    corner, size = rng.integers(8, 72, size=2), rng.integers(24, 48, size=2)
    return np.concatenate([corner, corner + size]) / GRID


def _near(box, far, rng):
    """A box whose corners are moved by up to that part of its sides."""
    size = np.tile(box[2:] - box[:2], 2)
    moved = np.round((box + far * size * rng.uniform(-1, 1, size=4)) * GRID) / GRID
    return moved.clip(0, 1)


def _detection(targets, threshold, margin, rng):
    for _ in range(TRIES):
        box = _near(targets[rng.integers(len(targets))], rng.choice([0.05, 0.1, 0.15, 0.5, 0.7]), rng)
        if (box[2:] - box[:2]).min() < 8 / GRID:
            continue
        shared = np.maximum(np.minimum(box[2:], targets[:, 2:]) - np.maximum(box[:2], targets[:, :2]), 0).prod(axis=1)
        overlaps = shared / ((box[2:] - box[:2]).prod() + (targets[:, 2:] - targets[:, :2]).prod(axis=1) - shared)
        above = np.sort(overlaps[overlaps >= threshold])
        if abs(overlaps - threshold).min() > margin and np.diff(above).min(initial=1) > margin:
            return box
    return np.array([0, 0, 8, 8]) / GRID  # which meets no target


def neighbours(inputs, rng):
    """Twice two targets overlap, the second time mirrored: one detection fits both, a later one only the other. The surest lies
    apart from all, by sides whose product would be an area like theirs, and the last has the fifth target."""
    boxes = [[40, 40, 64, 64], [14, 8, 46, 40], [82, 8, 114, 40], [0, 8, 32, 40], [96, 8, 128, 40], [94, 92, 124, 124]]
    targets = [[8, 8, 40, 40], [16, 8, 48, 40], [80, 8, 112, 40], [88, 8, 120, 40], [92, 92, 124, 124]]
    order = rng.permutation(len(boxes))
    inputs["boxes"][:] = np.array(boxes)[order] / GRID
    inputs["scores"][:] = -np.sort(-inputs["scores"])[order]
    inputs["targets"][:] = np.array(targets) / GRID


def nothing_right(inputs, rng):
    inputs["boxes"][:] = np.array([0, 0, 8, 8]) / GRID
