"""Right answers to `add_adapters`, as others write them."""

from torch import nn

from autograder.bank.practice import practice


@practice("Hugging Face's PEFT")
def peft(network, names, adapter):
    def _get_submodules(model, key):
        parent = model.get_submodule(".".join(key.split(".")[:-1]))
        target_name = key.split(".")[-1]
        return parent, model.get_submodule(key), target_name

    for p in network.parameters():
        p.requires_grad = False
    key_list = [key for key, _ in network.named_modules()]
    for key in key_list:
        if key.split(".")[-1] not in names:
            continue
        parent, target, target_name = _get_submodules(network, key)
        if not isinstance(target, nn.Linear):
            continue
        setattr(parent, target_name, adapter(target))
    return network


@practice("bitsandbytes' replace_linear, recursive")
def replace_linear(network, names, adapter):
    def _replace(model):
        for name, module in model.named_children():
            if isinstance(module, nn.Linear) and name in names:
                model._modules[name] = adapter(module)
            else:
                _replace(module)

    network.requires_grad_(False)
    _replace(network)
    return network


@practice("torch: parents first, then their children")
def parents(network, names, adapter):
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    for parent in list(network.modules()):
        for name, child in list(parent.named_children()):
            if name in names and isinstance(child, nn.Linear):
                setattr(parent, name, adapter(child))
    return network


@practice("freezing afterwards")
def afterwards(network, names, adapter):
    own = list(network.parameters())
    targets = {
        full: layer
        for full, layer in network.named_modules()
        if isinstance(layer, nn.Linear) and full.rpartition(".")[2] in names
    }
    for full, layer in targets.items():
        where, _, name = full.rpartition(".")
        setattr(network.get_submodule(where), name, adapter(layer))
    for param in own:
        param.requires_grad = False
    return network


@practice("LoRA from scratch, a stack of modules")
def stack(network, names, adapter):
    wanted = set(names)
    for _, p in network.named_parameters():
        p.requires_grad_(False)
    todo = [network]
    while todo:
        module = todo.pop()
        for name in list(module._modules):
            child = getattr(module, name)
            if isinstance(child, nn.Linear) and name in wanted:
                setattr(module, name, adapter(child))
            elif child is not None:
                todo.append(child)
    return network
