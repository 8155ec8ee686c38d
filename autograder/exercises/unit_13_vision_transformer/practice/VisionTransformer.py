"""Right answers to `VisionTransformer`, as others write them."""

import copy

from torch import nn

from autograder.bank.practice import practice


def encoder_layer(D, H, D_F):
    return nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)


@practice("timm")
class Timm(nn.Module):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__()
        self.global_pool = "avg" if mean_pooling else "token"
        self.num_prefix_tokens = 1
        self.blocks = nn.ModuleList([encoder_layer(D, H, D_F) for i in range(depth)])
        self.norm = nn.LayerNorm(D)
        self.fc_norm = nn.Identity()
        self.head_drop = nn.Dropout(0.0)
        self.head = nn.Linear(D, classes) if classes > 0 else nn.Identity()

    def forward_features(self, x):
        for blk in self.blocks:
            x = blk(x)
        return self.norm(x)

    def pool(self, x):
        if self.global_pool == "avg":
            return x[:, self.num_prefix_tokens :].mean(dim=1)
        return x[:, 0]

    def forward_head(self, x):
        x = self.pool(x)
        x = self.fc_norm(x)
        x = self.head_drop(x)
        return self.head(x)

    def forward(self, X):
        return self.forward_head(self.forward_features(X))


@practice("einops", needs="einops")
class Lucidrains(nn.Module):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__()
        self.pool = "mean" if mean_pooling else "cls"
        self.blocks = nn.ModuleList([])
        for _ in range(depth):
            self.blocks.append(encoder_layer(D, H, D_F))
        self.norm = nn.LayerNorm(D)
        self.to_latent = nn.Identity()
        self.head = nn.Linear(D, classes)

    def forward(self, X):
        from einops import reduce

        x = X
        for layer in self.blocks:
            x = layer(x)
        x = self.norm(x)
        x = reduce(x[:, 1:], "b n d -> b d", "mean") if self.pool == "mean" else x[:, 0]
        return self.head(self.to_latent(x))


@practice("MAE, the class token normalised alone")
class Mae(nn.Module):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__()
        self.global_pool = mean_pooling
        self.blocks = nn.ModuleList([encoder_layer(D, H, D_F) for _ in range(depth)])
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, classes)
        nn.init.trunc_normal_(self.head.weight, std=2e-5)

    def forward(self, X):
        x = X
        for blk in self.blocks:
            x = blk(x)
        if self.global_pool:
            outcome = self.norm(x[:, 1:, :]).mean(dim=1)
        else:
            outcome = self.norm(x[:, 0])
        return self.head(outcome)


@practice("Hugging Face's BEiT")
class Beit(nn.Module):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__()
        self.use_mean_pooling = mean_pooling
        layer = encoder_layer(D, H, D_F)
        self.blocks = nn.ModuleList([copy.deepcopy(layer) for _ in range(depth)])
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, classes)

    def forward(self, X):
        hidden_states = X
        for layer_module in self.blocks:
            layer_outputs = layer_module(hidden_states)
            hidden_states = layer_outputs
        sequence_output = self.norm(hidden_states)
        pooled_output = sequence_output[:, 1:, :].mean(1) if self.use_mean_pooling else sequence_output[:, 0]
        return self.head(pooled_output)


@practice("UvA tutorial, sequence first")
class UvA(nn.Module):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__()
        self.mean_pooling = mean_pooling
        self.blocks = nn.ModuleList(encoder_layer(D, H, D_F) for _ in range(depth))
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, classes)

    def forward(self, X):
        x = nn.Sequential(*self.blocks)(X)
        x = self.norm(x).transpose(0, 1)
        pooled = x[1:].sum(0) / (x.shape[0] - 1) if self.mean_pooling else x[0]
        return self.head(pooled)
