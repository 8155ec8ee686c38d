"""Right answers to `SelfAttention2d`, as others write them."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.bank.practice import practice


@practice("SAGAN-PyTorch (heykeetae)")
class SelfAttn(nn.Module):
    def __init__(self, in_dim, key_dim):
        super().__init__()
        self.queries = nn.Conv2d(in_channels=in_dim, out_channels=key_dim, kernel_size=1)
        self.keys = nn.Conv2d(in_channels=in_dim, out_channels=key_dim, kernel_size=1)
        self.values = nn.Conv2d(in_channels=in_dim, out_channels=key_dim, kernel_size=1)
        self.output = nn.Conv2d(in_channels=key_dim, out_channels=in_dim, kernel_size=1)
        self.gamma = nn.Parameter(torch.zeros(()))
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, X):
        m_batchsize, C, width, height = X.size()
        proj_query = self.queries(X).view(m_batchsize, -1, width * height).permute(0, 2, 1)
        proj_key = self.keys(X).view(m_batchsize, -1, width * height)
        energy = torch.bmm(proj_query, proj_key)
        attention = self.softmax(energy)
        proj_value = self.values(X).view(m_batchsize, -1, width * height)
        out = torch.bmm(proj_value, attention.permute(0, 2, 1))
        out = self.output(out.view(m_batchsize, -1, width, height))
        return self.gamma * out + X


@practice("BigGAN-PyTorch")
class Attention(nn.Module):
    def __init__(self, C, C_K):
        super().__init__()
        self.ch, self.inner = C, C_K
        self.queries = nn.Conv2d(C, C_K, kernel_size=1, padding=0)
        self.keys = nn.Conv2d(C, C_K, kernel_size=1, padding=0)
        self.values = nn.Conv2d(C, C_K, kernel_size=1, padding=0)
        self.output = nn.Conv2d(C_K, C, kernel_size=1, padding=0)
        self.gamma = nn.Parameter(torch.tensor(0.0), requires_grad=True)

    def forward(self, X):
        theta = self.queries(X).reshape(-1, self.inner, X.shape[2] * X.shape[3])
        phi = self.keys(X).reshape(-1, self.inner, X.shape[2] * X.shape[3])
        g = self.values(X).reshape(-1, self.inner, X.shape[2] * X.shape[3])
        beta = F.softmax(torch.bmm(theta.transpose(1, 2), phi), -1)
        o = self.output(torch.bmm(g, beta.transpose(1, 2)).view(-1, self.inner, X.shape[2], X.shape[3]))
        return self.gamma * o + X


@practice("diffusers (AttentionBlock)")
class AttentionBlock(nn.Module):
    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.queries = nn.Conv2d(C, C_K, 1)
        self.keys = nn.Conv2d(C, C_K, 1)
        self.values = nn.Conv2d(C, C_K, 1)
        self.output = nn.Conv2d(C_K, C, 1)
        self.gamma = nn.Parameter(torch.zeros([]))

    def forward(self, X):
        residual = X
        batch, channel, height, width = X.shape
        hidden_states = X.view(batch, channel, height * width, 1) if X.is_contiguous() else X.flatten(2).unsqueeze(-1)
        query = self.queries(hidden_states).squeeze(-1).transpose(1, 2)
        key = self.keys(hidden_states).squeeze(-1).transpose(1, 2)
        value = self.values(hidden_states).squeeze(-1).transpose(1, 2)
        hidden_states = F.scaled_dot_product_attention(query, key, value, scale=1.0)
        hidden_states = self.output(hidden_states.transpose(1, 2).unsqueeze(-1))
        return residual + self.gamma * hidden_states.reshape(batch, channel, height, width)


@practice("lucidrains", needs="einops")
class Lucid(nn.Module):
    def __init__(self, dim, dim_head):
        super().__init__()
        self.queries, self.keys, self.values = [nn.Conv2d(dim, dim_head, 1) for _ in range(3)]
        self.output = nn.Conv2d(dim_head, dim, 1)
        self.gamma = nn.Parameter(torch.tensor(0.0))

    def forward(self, X):
        from einops import rearrange

        h = X.shape[-2]
        q, k, v = (rearrange(f(X), "b c h w -> b (h w) c") for f in (self.queries, self.keys, self.values))
        sim = torch.einsum("b i d, b j d -> b i j", q, k)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        attn = sim.softmax(dim=-1)
        out = torch.einsum("b i j, b j d -> b i d", attn, v)
        return X + self.output(rearrange(out, "b (h w) c -> b c h w", h=h)) * self.gamma


@practice("nanoGPT")
class NanoSelfAttention2d(nn.Module):
    def __init__(self, C, C_K):
        super().__init__()
        self.queries = nn.Conv2d(C, C_K, 1)
        self.keys = nn.Conv2d(C, C_K, 1)
        self.values = nn.Conv2d(C, C_K, 1)
        self.output = nn.Conv2d(C_K, C, 1)
        self.gamma = nn.Parameter(torch.tensor(0.0))

    def forward(self, X):
        B, C, H, W = X.size()  # batch size, channels, rows, columns
        x = X.flatten(2).transpose(1, 2)  # (B, T, C)
        project = lambda layer, x: F.linear(x, layer.weight.flatten(1), layer.bias)  # noqa: E731
        q, k, v = project(self.queries, x), project(self.keys, x), project(self.values, x)
        att = q @ k.transpose(-2, -1)
        att = F.softmax(att, dim=-1)
        y = project(self.output, att @ v)  # (B, T, T) x (B, T, C_K) -> (B, T, C_K) -> (B, T, C)
        return X + self.gamma * y.transpose(1, 2).reshape(B, C, H, W)


@practice("plain loops")
class Loops(nn.Module):
    def __init__(self, C, C_K):
        super().__init__()
        self.queries = nn.Conv2d(C, C_K, 1)
        self.keys = nn.Conv2d(C, C_K, 1)
        self.values = nn.Conv2d(C, C_K, 1)
        self.output = nn.Conv2d(C_K, C, 1)
        self.gamma = nn.Parameter(torch.tensor(0.0))

    def forward(self, X):
        q, k, v = self.queries(X), self.keys(X).flatten(2), self.values(X).flatten(2)
        lines = []
        for r in range(X.shape[2]):
            line = []
            for c in range(X.shape[3]):
                scores = (q[:, :, r, c, None] * k).sum(dim=1)  # [B, N]
                weights = torch.softmax(scores, dim=1)
                line.append((weights[:, None] * v).sum(dim=2))
            lines.append(torch.stack(line, dim=2))
        seen = torch.stack(lines, dim=2)  # [B, C_K, rows, columns]
        return X + self.gamma * self.output(seen)
