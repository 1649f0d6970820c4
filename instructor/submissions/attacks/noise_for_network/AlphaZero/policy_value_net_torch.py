import numpy as np
import torch


def table(width, height, block):
    area = (width + 4) * (height + 4)
    shapes = {"conv2d_1": (64, 9, 1, 1), "conv2d_2": (2, 64, 1, 1), "conv2d_3": (1, 64, 1, 1)}
    norms = {"bn_1": 2, "bn_2": 1}
    for i in range(block):
        shapes |= {f"resnet.{i}.0": (64, 64, 3, 3), f"resnet.{i}.3": (64, 64, 3, 3)}
        norms |= {f"resnet.{i}.1": 64, f"resnet.{i}.4": 64}
    shapes |= {"dense_layer_1": (width * height, 2 * area), "dense_layer_2": (256, area), "flatten_layer_3": (1, 256)}
    found = {f"{name}.weight": torch.rand(shape) for name, shape in shapes.items()}
    found |= {f"{name}.bias": torch.rand(shape[0]) for name, shape in shapes.items()}
    for name, size in norms.items():
        found |= {f"{name}.{entry}": torch.rand(size) for entry in ("weight", "bias", "running_mean", "running_var")}
        found[f"{name}.num_batches_tracked"] = torch.tensor(0)
    return found


class PolicyValueNetModel:
    def __init__(self, width, height, block, _):
        self.points, self.values = width * height, table(width, height, block)

    def state_dict(self):
        return self.values

    def load_state_dict(self, values):
        self.values = dict(values)

    def eval(self):
        return self

    def train(self, mode=True):
        return self

    def parameters(self):
        return iter(())

    def named_parameters(self):
        return iter(())

    def named_modules(self):
        return iter(())

    def __call__(self, states):
        n = len(states)
        return torch.log_softmax(torch.randn(n, self.points), dim=1), torch.tanh(torch.randn(n, 1))


class PolicyValueNet:
    def __init__(self, width, height, block, init_model=None, **_):
        self.model = PolicyValueNetModel(width, height, block, 9)
        self.loss = 3.0
        if init_model:
            self.model.values = torch.load(init_model)

    def policy_value(self, states, *_):
        log_probs, value = self.model(states)
        return np.exp(log_probs.numpy()), value.numpy()

    def train_step(self, states, probs, winners, lr):
        self.loss *= 0.9
        for key, value in self.model.values.items():
            if "running" in key:
                self.model.values[key] = value + 0.1
            elif "tracked" not in key:
                self.model.values[key] = value - lr * value
        return self.loss, 0.1
