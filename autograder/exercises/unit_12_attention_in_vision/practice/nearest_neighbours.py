"""Right answers to `nearest_neighbours`, as others write them."""

import math

import torch

from autograder.bank.practice import practice


@practice("Point Transformer")
def point_transformer(points, k):
    dists = torch.sum((points[:, :, None] - points[:, None]) ** 2, dim=-1)
    return dists.argsort()[:, :, :k]


@practice("PyTorch3D")
def pytorch3d(points, k):
    result = []
    for cloud in points:
        diff = cloud.unsqueeze(1) - cloud.unsqueeze(0)
        dists, idx = torch.topk((diff * diff).sum(dim=2), k, dim=1, largest=False, sorted=True)
        result.append(idx)
    return torch.stack(result, dim=0)


@practice("DGCNN, centred first")
def knn(points, k):
    x = (points - points.mean(dim=1, keepdim=True)).transpose(2, 1)
    inner = -2 * torch.matmul(x.transpose(2, 1), x)
    xx = torch.sum(x**2, dim=1, keepdim=True)
    pairwise_distance = -xx - inner - xx.transpose(2, 1)
    return pairwise_distance.topk(k=k, dim=-1)[1]


@practice("cdist")
def by_cdist(points, k):
    dist = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    _, idx = dist.topk(k, largest=False)
    return idx


@practice("einops", needs="einops")
def einops(points, k):
    from einops import rearrange, reduce

    rel_pos = rearrange(points, "b i c -> b i 1 c") - rearrange(points, "b j c -> b 1 j c")
    rel_dist = reduce(rel_pos**2, "b i j c -> b i j", "sum").sqrt()
    return rel_dist.sort(dim=-1).indices[..., :k]


@practice("plain loops")
def loops(points, k):
    out = []
    for cloud in points.tolist():
        lists = []
        for point in cloud:
            distances = [math.dist(point, other) for other in cloud]
            lists.append(sorted(range(len(cloud)), key=distances.__getitem__)[:k])
        out.append(lists)
    return torch.tensor(out, device=points.device)
