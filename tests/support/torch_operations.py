"""Operations of torch, numpy and matplotlib that students may come to use, each an expression; a new one is a new line."""

MEANING = """
import collections, copy, io, json, math, os, random, sys, tempfile, threading, time, warnings
import numpy as np
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence

warnings.simplefilter("ignore")


def saved_and_loaded(thing, **how):
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    buffer.seek(0)
    return torch.load(buffer, **how)


def trained(module, x, kind, steps=3, **how):
    optimizer = kind(module.parameters(), **how)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = module(x).square().mean()
        loss.backward()
        optimizer.step()
    return [*module.parameters()]


def picture(draw, **how):
    figure, axes = plt.subplots()
    draw(axes)
    buffer = io.BytesIO()
    figure.savefig(buffer, **how)
    plt.close(figure)
    return len(buffer.getvalue()) > 500


def seen(result):
    if isinstance(result, np.ndarray):
        return seen(torch.from_numpy(result.copy()))
    if isinstance(result, torch.Tensor):
        result = result.detach()
        if result.is_nested:
            return seen(list(result.unbind()))
        if result.is_quantized:
            return seen(result.dequantize())
        if result.layout != torch.strided:
            result = result.to_dense()
        result = result.resolve_conj()
        flat = torch.view_as_real(result).reshape(-1) if result.is_complex() else result.reshape(-1)
        small = torch.finfo(flat.dtype).eps if flat.is_floating_point() else 0
        flat = flat.double()
        return [str(result.dtype), list(result.shape), small, [*flat[:6].tolist(), flat.sum().item(), flat.abs().sum().item()]]
    if isinstance(result, dict):
        return [[str(key), seen(one)] for key, one in result.items()]
    if isinstance(result, (list, tuple)):
        return [seen(one) for one in result]
    return result if isinstance(result, (bool, int, float, str, type(None))) else type(result).__name__


def found(source):
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    try:
        return ["value", seen(eval(source, globals()))]
    except BaseException as error:
        return ["error", type(error).__name__, str(error)[:300]]


torch.set_num_threads(1)
"""

FLOATS = ("float16", "bfloat16", "float32", "float64")
NUMBERS = (*FLOATS, "complex64", "complex128", "uint8", "int8", "int16", "int32", "int64", "bool")
OF_EVERY_TYPE = (
    "x @ x",
    "x + 1",
    "x * x",
    "x / 2",
    "x.cumsum(0)",
    "x.sum(-1)",
    "x.float().to(x.dtype)",
    "torch.einsum('ij,kj->ik', x, x)",
    "torch.bmm(x[None], x[None])",
    "torch.cat([x, x]).mT.contiguous()",
    "torch.where(x != 0, x, x)",
    "x.index_select(0, torch.tensor([2, 0]))",
    "x.scatter_add(0, torch.zeros(4, 4, dtype=torch.long), x)",
    "torch.unique(x.abs())",
    "x.sort(-1)",
    "saved_and_loaded(x)",
)
OF_EVERY_FLOAT = (
    "x.softmax(-1)",
    "x.exp().log1p().tanh().erf()",
    "F.linear(x, x, x[0])",
    "F.layer_norm(x, (4,), x[0], x[1])",
    "F.group_norm(x[None], 2)",
    "F.batch_norm(x, None, None, training=True)",
    "F.gelu(x)",
    "F.conv1d(x[None], torch.ones(2, 4, 3, dtype=x.dtype), padding=1)",
    "F.conv2d(x[None, None], torch.ones(2, 1, 3, 3, dtype=x.dtype))",
    "F.conv3d(torch.ones(1, 1, 4, 4, 4, dtype=x.dtype), torch.ones(1, 1, 2, 2, 2, dtype=x.dtype))",
    "F.conv_transpose1d(x[None], torch.ones(4, 2, 3, dtype=x.dtype))",
    "F.conv_transpose2d(x[None, None], torch.ones(1, 2, 3, 3, dtype=x.dtype), stride=2)",
    "F.conv_transpose3d(torch.ones(1, 1, 3, 3, 3, dtype=x.dtype), torch.ones(1, 1, 2, 2, 2, dtype=x.dtype))",
    "F.max_pool2d(x[None, None], 2)",
    "F.avg_pool2d(x[None, None], 2)",
    "F.adaptive_avg_pool2d(x[None, None], 3)",
    "F.interpolate(x[None, None], scale_factor=2, mode='bilinear')",
    "F.interpolate(x[None, None], scale_factor=2, mode='nearest')",
    "F.pad(x[None, None], (1, 1, 1, 1), mode='reflect')",
    "F.scaled_dot_product_attention(x[None], x[None], x[None])",
    "F.scaled_dot_product_attention(*3 * [x[None, None]], is_causal=True)",
    "F.scaled_dot_product_attention(*3 * [x[None]], attn_mask=torch.ones(4, 4).tril().bool())",
    "F.cross_entropy(x, torch.tensor([0, 1, 2, 3]))",
    "F.embedding(torch.tensor([1, 2]), x)",
    "F.embedding_bag(torch.tensor([1, 2, 0]), x, torch.tensor([0, 2]))",
    "F.embedding_bag(torch.tensor([[1, 2], [0, 3]]), x, mode='max')",
    "F.cosine_similarity(x, x.flip(0))",
    "torch.cdist(x, x.flip(0))",
    "torch.randn(3, 3, dtype=x.dtype)",
    "F.dropout(x, 0.5)",
    "torch.multinomial(x.softmax(-1), 2)",
    "x.topk(2)",
    "x.quantile(0.5)",
    "x.std(), x.var(0), x.median(), x.norm()",
    "torch.linalg.solve(x + 4 * torch.eye(4, dtype=x.dtype), x)",
    "nn.MultiheadAttention(4, 2, batch_first=True, dtype=x.dtype)(*3 * [x[None]])",
    "nn.LSTM(4, 3, dtype=x.dtype)(x)",
    "nn.GRU(4, 3, num_layers=2, bidirectional=True, dtype=x.dtype)(x)",
    "nn.RNN(4, 3, dtype=x.dtype)(x)",
    "nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, dtype=x.dtype).eval()(x[None])",
    "torch.autograd.grad((x.requires_grad_().softmax(-1) ** 2).sum(), x)",
)
X = "torch.randn(4, 4)"
OTHERS = (
    # numbers of lower precision, as autocast brings them about
    "torch.randn(3, 4).half().float() @ torch.randn(4, 2)",
    "nn.Linear(4, 3).half()(torch.randn(2, 4).half())",
    "nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).bfloat16()(torch.randn(1, 1, 5, 5).bfloat16())",
    "[torch.autocast('cpu', dtype=torch.bfloat16).__enter__(), torch.randn(2, 2) @ torch.randn(2, 2)][1]",
    "torch.set_autocast_enabled('cpu', False)",
    # bags, quantised numbers
    "nn.EmbeddingBag(5, 3)(torch.tensor([1, 2, 4]), torch.tensor([0, 2]))",
    "nn.EmbeddingBag(5, 3, mode='sum')(torch.tensor([[1, 2], [3, 4]]), per_sample_weights=torch.rand(2, 2))",
    f"torch.quantize_per_tensor({X}, 0.1, 10, torch.quint8)",
    f"torch.quantize_per_channel({X}, torch.ones(4) / 10, torch.zeros(4), 0, torch.qint8)",
    f"torch.quantize_per_tensor({X}, 0.1, 10, torch.quint8).relu()",
    f"torch.ops.quantized.add(*2 * [torch.quantize_per_tensor({X}, 0.1, 10, torch.quint8)], 0.1, 10)",
    f"torch.fake_quantize_per_tensor_affine({X}, 0.1, 0, 0, 255)",
    "torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 3)), {nn.Linear})(torch.randn(2, 4))",
    "torch.ao.quantization.quantize_dynamic(nn.LSTM(4, 3), {nn.LSTM})(torch.randn(2, 1, 4))",
    "torch.ops.quantized.linear(torch.quantize_per_tensor(torch.randn(2, 4), 0.1, 10, torch.quint8),"
    " torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 0, torch.qint8),"
    " torch.randn(3)), 0.1, 9)",
    "torch.ao.nn.quantized.functional.conv2d(torch.quantize_per_tensor(torch.randn(1, 1, 5, 5), 0.1, 10,"
    " torch.quint8), torch.quantize_per_tensor(torch.randn(2, 1, 3, 3), 0.1, 0, torch.qint8), torch.randn(2))",
    "torch.backends.quantized.engine",
    "torch._int_mm(torch.ones(32, 32, dtype=torch.int8), torch.ones(32, 32, dtype=torch.int8))",
    # what is sparse, nested or laid out otherwise
    f"{X}.relu().to_sparse() @ {X}",
    f"{X}.relu().to_sparse_csr() @ {X}",
    f"{X}.relu().to_sparse_csr() @ {X}.relu().to_sparse_csr()",
    f"{X}.relu().to_sparse_csc()",
    f"{X}.to_sparse_bsr((2, 2)) @ {X}",
    "torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2)).coalesce()",
    f"torch.sparse.mm({X}.relu().to_sparse(), {X})",
    f"torch.sparse.softmax({X}.relu().to_sparse(), 1)",
    "nn.Embedding(5, 3, sparse=True)(torch.tensor([1, 2])).sum().backward()",
    "torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)])",
    "torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)]) * 2",
    "torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)], layout=torch.jagged) + 1",
    "torch.nested.to_padded_tensor(torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)]), 0.0)",
    f"{X}.to_mkldnn().to_dense()",
    "torch.randn(1, 2, 3, 3).to(memory_format=torch.channels_last) * 2",
    # linear algebra and transforms
    f"torch.linalg.svd({X})",
    f"torch.linalg.svdvals({X})",
    f"torch.linalg.eigh({X} + {X}.mT)",
    f"torch.linalg.eigvals({X})",
    f"torch.linalg.qr({X})",
    f"torch.linalg.inv({X})",
    f"torch.linalg.pinv({X})",
    f"torch.linalg.det({X}), torch.linalg.slogdet({X})",
    f"torch.linalg.lstsq({X}, torch.randn(4, 2))",
    f"torch.linalg.lu({X})",
    f"torch.linalg.matrix_exp({X})",
    f"torch.linalg.matrix_rank({X}), torch.linalg.cond({X}), torch.linalg.matrix_norm({X}, 2)",
    "torch.linalg.cholesky(torch.eye(3) * 2)",
    "torch.linalg.cholesky(-torch.eye(3))",
    "torch.linalg.inv(torch.zeros(3, 3))",
    "torch.linalg.solve_triangular(torch.ones(3, 3).triu(), torch.randn(3, 2), upper=True)",
    "torch.linalg.eigh(torch.eye(3, dtype=torch.complex128))",
    "torch.pca_lowrank(torch.randn(6, 4), q=2, center=True)[1].abs()",
    "torch.randn(64, 300) @ torch.randn(300, 200)",
    "torch.randn(8, 64, 64, dtype=torch.float64) @ torch.randn(8, 64, 64, dtype=torch.float64)",
    "torch.fft.fft(torch.randn(8))",
    "torch.fft.ifft2(torch.fft.fft2(torch.randn(8, 6)))",
    "torch.fft.rfftn(torch.randn(4, 6, 8))",
    "torch.fft.irfft(torch.fft.rfft(torch.randn(9), n=7), n=7)",
    "torch.stft(torch.randn(64), 16, window=torch.hann_window(16), return_complex=True)",
    "torch.special.bessel_j0(torch.linspace(0, 3, 4))",
    "torch.special.gammaln(torch.tensor([2.5]))",
    # chance
    "torch.rand(3)",
    "torch.randint(0, 9, (4,))",
    "torch.randperm(6)",
    "torch.normal(0.0, torch.ones(3))",
    "torch.randn(3, generator=torch.Generator().manual_seed(5))",
    "torch.bernoulli(torch.full((8,), 0.5))",
    "torch.poisson(torch.ones(5))",
    "torch.empty(5).exponential_()",
    "torch.empty(5).cauchy_()",
    "torch.empty(5).log_normal_()",
    "torch.empty(5).geometric_(0.5)",
    "F.gumbel_softmax(torch.randn(3, 4))",
    "nn.init.orthogonal_(torch.empty(3, 3))",
    "nn.init.trunc_normal_(torch.empty(4))",
    "torch.seed() > 0",
    "torch.initial_seed() > 0",
    "torch.distributions.Normal(0.0, 1.0).sample((3,))",
    "torch.distributions.Categorical(logits=torch.randn(4)).entropy()",
    "torch.distributions.kl_divergence(torch.distributions.Beta(1.0, 2.0), torch.distributions.Beta(2.0, 2.0))",
    "torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).rsample((2,))",
    "torch.distributions.Dirichlet(torch.ones(3)).sample()",
    "torch.distributions.Gamma(1.0, 1.0).sample()",
    # networks
    "nn.Transformer(8, 2, 1, 1, 16, batch_first=True)(torch.randn(2, 3, 8), torch.randn(2, 4, 8))",
    "nn.Transformer(8, 2, 1, 1, 16).eval()(torch.randn(3, 2, 8), torch.randn(4, 2, 8))",
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()(torch.randn(2, 3,"
    " 8), src_key_padding_mask=torch.tensor([[False, False, True], [False, False, False]]))",
    "nn.Transformer.generate_square_subsequent_mask(4)",
    "nn.MultiheadAttention(8, 2, kdim=4, vdim=6)(torch.randn(3, 2, 8), torch.randn(4, 2, 4), torch.randn(4, 2, 6))",
    "nn.LSTM(4, 3)(pack_padded_sequence(torch.randn(5, 2, 4), [5, 3]))[0].data",
    "pad_packed_sequence(nn.GRU(4, 3, batch_first=True)(pack_sequence([torch.randn(4, 4), torch.randn(2, 4)]))[0])",
    "pad_sequence([torch.ones(2), torch.ones(4)], batch_first=True)",
    "nn.LSTMCell(4, 3)(torch.randn(2, 4))",
    "nn.GRUCell(4, 3)(torch.randn(2, 4))",
    "nn.LSTM(4, 3, proj_size=2)(torch.randn(2, 1, 4))",
    "F.ctc_loss(torch.randn(6, 1, 4).log_softmax(-1), torch.tensor([[1, 2]]), (6,), (2,))",
    "nn.CTCLoss()(torch.randn(6, 2, 4).log_softmax(-1), torch.tensor([[1, 2], [3, 1]]), (6, 6), (2, 2))",
    "F.nll_loss(torch.randn(3, 4), torch.tensor([0, 1, 2]))",
    "F.mse_loss(torch.ones(3), torch.zeros(3))",
    "F.huber_loss(torch.ones(3), torch.zeros(3))",
    "F.kl_div(torch.zeros(3), torch.ones(3))",
    "F.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(3))",
    "F.unfold(torch.randn(1, 1, 4, 4), 2)",
    "F.fold(torch.randn(1, 4, 4), (3, 3), 2)",
    "F.pixel_shuffle(torch.randn(1, 4, 2, 2), 2)",
    "F.grid_sample(torch.randn(1, 1, 4, 4), F.affine_grid(torch.eye(2, 3)[None], (1, 1, 3, 3)))",
    "F.interpolate(torch.randn(1, 1, 4, 4), size=7, mode='bicubic', antialias=True)",
    "nn.Conv2d(3, 8, 3, padding=1, groups=1)(torch.randn(2, 3, 16, 16))",
    "nn.Conv2d(8, 8, 3, groups=8, dilation=2)(torch.randn(1, 8, 12, 12))",
    "nn.LazyLinear(3)(torch.randn(2, 4))",
    "nn.Bilinear(3, 4, 2)(torch.randn(2, 3), torch.randn(2, 4))",
    "nn.PReLU()(torch.randn(3))",
    "nn.LocalResponseNorm(2)(torch.randn(1, 4, 3, 3))",
    "nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))(torch.randn(2, 4))",
    "nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))(torch.randn(2, 4))",
    "nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))(torch.randn(2, 4))",
    "nn.utils.clip_grad_norm_([nn.Parameter(torch.ones(3))], 1.0)",
    "nn.utils.parameters_to_vector(nn.Linear(2, 2).parameters())",
    "copy.deepcopy(nn.Transformer(8, 2, 1, 1, 16)).state_dict()",
    "nn.utils.fusion.fuse_linear_bn_eval(nn.Linear(3, 3).eval(), nn.BatchNorm1d(3).eval())(torch.randn(2, 3))",
    # training
    *(f"trained(nn.Linear(4, 3), torch.randn(5, 4), torch.optim.{kind}, lr=0.1)"
      for kind in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Adamax", "ASGD", "Rprop")),
    "torch.optim.lr_scheduler.CosineAnnealingLR(torch.optim.SGD([nn.Parameter(torch.ones(1))], 0.1), 5).get_last_lr()",
    "torch.optim.swa_utils.AveragedModel(nn.Linear(2, 2))(torch.ones(1, 2))",
    "torch.utils.checkpoint.checkpoint(nn.Linear(3, 3), torch.randn(2, 3, requires_grad=True),"
    " use_reentrant=False).sum().backward()",
    "[one for one in torch.utils.data.DataLoader(torch.arange(10), batch_size=4, shuffle=True, num_workers=0)]",
    "next(iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(6, 2), torch.arange(6)), 3)))",
    "[len(one) for one in torch.utils.data.random_split(range(10), [0.5, 0.5])]",
    # derivatives
    "torch.func.vmap(torch.dot)(torch.randn(3, 4), torch.randn(3, 4))",
    "torch.func.grad(lambda x: x.sin().sum())(torch.randn(3))",
    "torch.func.jacrev(torch.softmax)(torch.randn(3), 0)",
    "torch.func.jacfwd(torch.tanh)(torch.randn(3))",
    "torch.func.hessian(lambda x: (x ** 3).sum())(torch.randn(3))",
    "torch.func.functional_call(nn.Linear(2, 2), {'bias': torch.zeros(2)}, torch.ones(1, 2))",
    "torch.vmap(torch.func.grad(lambda x: (x ** 2).sum()))(torch.randn(3, 2))",
    "torch.autograd.functional.jacobian(lambda x: x.exp(), torch.randn(3))",
    "torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.randn(3))",
    "torch.autograd.functional.vjp(torch.sin, torch.ones(3), torch.ones(3))",
    "torch.func.jvp(torch.sin, (torch.ones(3),), (torch.ones(3),))",
    "torch.autograd.gradcheck(torch.sigmoid, torch.randn(3, dtype=torch.float64, requires_grad=True))",
    "torch.autograd.detect_anomaly().__enter__()",
    "torch.autograd.set_detect_anomaly(False)",
    "F.conv2d(torch.randn(1, 2, 5, 5, requires_grad=True), torch.randn(3, 2, 3, 3,"
    " requires_grad=True)).square().sum().backward()",
    # order, search, and the like
    "torch.tensor([3, 1, 2, 1]).unique(return_inverse=True, return_counts=True)",
    "torch.tensor([1, 1, 2]).unique_consecutive()",
    "torch.tensor([3.0, 1, 2]).argsort()",
    "torch.searchsorted(torch.arange(5), torch.tensor([2, 4]))",
    "torch.tensor([1, 1, 4]).bincount()",
    "torch.histc(torch.randn(20), 4)",
    "torch.histogram(torch.randn(20), 4)",
    "torch.bucketize(torch.randn(4), torch.tensor([0.0, 1.0]))",
    "torch.tensor([1.0, 2]).to(torch.float8_e4m3fn).float()",
    "torch.arange(6).view(torch.int32)",
    "torch.randn(3, 4).tolist()[0][0]",
    "torch.randn(2).numpy()",
    "torch.from_numpy(np.arange(3.0))",
    "torch.from_dlpack(np.arange(3.0))",
    "torch.tensordot(torch.randn(2, 3, 4), torch.randn(3, 4, 5), 2)",
    "torch.kron(torch.eye(2), torch.ones(2, 2))",
    "torch.combinations(torch.arange(4))",
    "torch.cartesian_prod(torch.arange(2), torch.arange(3))",
    "torch.meshgrid(torch.arange(2), torch.arange(3), indexing='ij')",
    "torch.trapezoid(torch.arange(4.0))",
    "torch.logcumsumexp(torch.randn(4), 0)",
    # files, copies, what is compiled or printed
    "saved_and_loaded(nn.Linear(3, 2).state_dict())",
    "saved_and_loaded(nn.Linear(3, 2), weights_only=False)(torch.ones(1, 3))",
    "torch.jit.script(nn.Linear(3, 2))(torch.ones(1, 3))",
    "torch.jit.trace(nn.Linear(3, 2), torch.ones(1, 3))(torch.ones(2, 3))",
    "torch.fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))(torch.ones(1, 3))",
    "repr(torch.randn(3, 3))",
    "repr(nn.Transformer(8, 2, 1, 1, 16))",
    "f'{torch.tensor(1.5):.2f}'",
    "torch.testing.assert_close(torch.ones(2), torch.ones(2))",
    "torch.testing.make_tensor(3, dtype=torch.float32, device='cpu').shape",
    "torch.testing.assert_close(torch.ones(2), torch.zeros(2))",
    "torch.cuda.is_available()",
    "torch.backends.mps.is_available()",
    "torch.get_num_threads()",
    "torch.backends.mkldnn.is_available()",
    "torch.backends.cpu.get_cpu_capability()",
    "torch.cpu._is_avx2_supported() if hasattr(torch.cpu, '_is_avx2_supported') else 0",
    "torch.empty(3, device='meta').shape",
    "torch.ones(3, device='cpu').device.type",
    "torch.package.PackageExporter.__name__",
    "torch.library.Library.__name__",
    "torch.hub.get_dir() is not None",
    "[thread := threading.Thread(target=lambda: torch.randn(64, 64) @ torch.randn(64, 64)), thread.start(),"
    " thread.join()][1:]",
    # numpy
    "np.linalg.svd(np.random.rand(3, 3))",
    "np.linalg.eigh(np.eye(3))",
    "np.linalg.solve(np.eye(3) * 2, np.ones(3))",
    "np.fft.fft(np.ones(4))",
    "np.random.default_rng(0).normal(size=3)",
    "np.random.rand(2)",
    "np.einsum('ij,jk->ik', np.ones((2, 3)), np.ones((3, 2)))",
    "np.random.default_rng().random() < 1",
    "np.float16(1.5) * np.ones(3, np.float16)",
    "np.ones(3).astype(np.longdouble).astype(float)",
    "np.random.rand(300, 300) @ np.random.rand(300, 300)",
    "np.polyfit(np.arange(5.0), np.arange(5.0), 1)",
    "np.unique([3, 1, 1])",
    "np.testing.assert_allclose(np.ones(2), np.ones(2))",
    "os.cpu_count() > 0",
    "len(os.sched_getaffinity(0)) > 0",
    "time.strftime('%Z') is not None",
    "sys.getrecursionlimit() > 0",
    "__import__('psutil').virtual_memory().total > 0",
    "__import__('getpass').getuser() != ''",
    "tempfile.TemporaryFile().write(b'x')",
    "os.path.isdir(tempfile.gettempdir())",
    "os.path.expanduser('~') != '~'",
    # pictures
    "picture(lambda axes: axes.imshow(np.random.rand(4, 4)), format='png')",
    "picture(lambda axes: axes.set_title(r'$\\alpha_{i}^2 = \\frac{1}{2}$'), format='png')",
    "picture(lambda axes: axes.bar(['a', 'b'], [1, 2], hatch='/'), format='png')",
    "picture(lambda axes: axes.semilogy([1, 10]), format='svg')",
    "picture(lambda axes: axes.plot([1, 2]), format='pdf')",
    "picture(lambda axes: axes.pie([1, 2, 3]), format='png')",
    "picture(lambda axes: axes.contourf(np.random.rand(4, 4)), format='png')",
    "picture(lambda axes: axes.text(0, 0, 'Größe', family='serif'), format='png')",
    "picture(lambda axes: axes.hist([1, 2, 2]), format='png')",
    "picture(lambda axes: axes.figure.add_subplot(projection='3d').plot([1, 2], [1, 2], [1, 2]), format='png')",
    "[plt.style.use('ggplot'), picture(lambda axes: axes.plot([1, 2]), format='png')][1]",
)  # fmt: skip


def _given(types: tuple, operations: tuple) -> list[str]:
    """The operations on x, four by four, of every type."""
    return [f"[x := (3 * {X}).to(torch.{kind}), {one}][1]" for kind in types for one in operations]


ALL = [*_given(NUMBERS, OF_EVERY_TYPE), *_given(FLOATS, OF_EVERY_FLOAT), *OTHERS]
