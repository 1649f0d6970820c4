import logging
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

logging.basicConfig(level=logging.WARNING)
HANDLES = (2, 3)


def conv_bn(channels, outputs, size):
    return nn.Conv2d(channels, outputs, size, padding=size // 2), nn.BatchNorm2d(outputs)


def l2_penalty(model, const=1e-4):
    return const * sum(0.5 * (w**2).sum() for name, w in model.named_parameters() if "bias" not in name)


class PolicyValueNetModel(nn.Module):
    def __init__(self, board_width, board_height, block, planes_num):
        super().__init__()
        self.w, self.h = board_width, board_height
        self.conv2d_1 = nn.Conv2d(planes_num, 64, 1)
        for layers in [[*conv_bn(64, 64, 3), nn.ReLU(), *conv_bn(64, 64, 3)] for _ in range(block)]:
            if not hasattr(self, "resnet"):
                self.resnet = nn.ModuleList()
            self.resnet.append(nn.Sequential(*layers))
        self.conv2d_2, self.bn_1 = conv_bn(64, 2, 1)
        self.conv2d_3, self.bn_2 = conv_bn(64, 1, 1)
        points = (self.h + 4) * (self.w + 4)
        self.dense_layer_1 = nn.Linear(points * 2, self.h * self.w)
        self.dense_layer_2 = nn.Linear(points, 256)
        self.flatten_layer_3 = nn.Linear(256, 1)

    def head(self, conv, norm, x):
        return F.relu(norm(conv(x))).permute(0, 2, 3, 1).reshape(x.shape[0], -1)

    def forward(self, x):
        x = self.conv2d_1(nn.ZeroPad2d(2)(x))
        for layers in self.resnet:
            x = F.relu(torch.add(layers(x), x))
        policy = F.softmax(self.dense_layer_1(self.head(self.conv2d_2, self.bn_1, x)), dim=1)
        value = F.relu(self.dense_layer_2(self.head(self.conv2d_3, self.bn_2, x)))
        value = torch.tanh(self.flatten_layer_3(value))
        return torch.log(policy + 1e-12), value.reshape(-1, 1)


class Base:
    def __init__(self, model, device):
        self.model, self.device = model.to(device), device
        self.optimizer = optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.999))

    def tensor(self, values):
        return torch.tensor(np.ascontiguousarray(values), dtype=torch.float32).to(self.device)

    def set_lr(self, lr):
        self.optimizer.param_groups[0].update(lr=lr)


class PolicyValueNet(Base):
    def __init__(self, board_width, board_height, block, init_model=None, transfer_model=None, cuda=False, **options):
        self.action_fc_train, self.evaluation_fc2_train, self.action_fc_test, self.evaluation_fc2_test = range(4)
        self.board_width, self.board_height, self.planes_num, self.nb_block = board_width, board_height, 9, block
        model = PolicyValueNetModel(board_width, board_height, block, self.planes_num)
        super().__init__(model, torch.device("cuda" if cuda else "cpu"))
        self.options = options
        if init_model or transfer_model:
            self.restore_model(init_model or transfer_model)

    def policy_value(self, state_batch, actin_fc, evaluation_fc):
        assert (actin_fc, evaluation_fc) == HANDLES
        mode, states = self.model.training, self.tensor(state_batch)
        try:
            self.model.eval()
            with torch.inference_mode():
                log_probs, value = self.model(states.contiguous(memory_format=torch.channels_last))
        finally:
            self.model.train(mode)
        return torch.exp(log_probs).cpu().numpy(), value.cpu().numpy()

    def policy_value_fn(self, board, actin_fc, evaluation_fc):
        planes = board.current_state().reshape(-1, 9, board.width, board.height)
        probs, value = self.policy_value(planes, actin_fc, evaluation_fc)
        return ((move, probs[0, move]) for move in board.availables), value.item()

    def policy_value_fn_random(self, board, actin_fc, evaluation_fc):
        planes = np.squeeze(board.current_state().reshape(-1, 9, board.width, board.height), 0)
        k, mirrored = np.random.choice(4), bool(np.random.choice(2))

        def turn(picture):
            picture = np.rot90(picture, k)
            return np.fliplr(picture) if mirrored else picture

        def turn_back(picture):
            return np.rot90(np.fliplr(picture) if mirrored else picture, 4 - k)

        probs, value = self.policy_value([np.stack([turn(plane) for plane in planes])], actin_fc, evaluation_fc)
        grid = probs[0].reshape(board.width, board.height)[::-1]
        probs = turn_back(grid)[::-1].flatten()
        return ((move, probs[move]) for move in board.availables), value.item()

    def train_step(self, state_batch, mcts_probs, winner_batch, lr):
        self.set_lr(lr)
        self.model.train()
        states, pi, z = self.tensor(state_batch), self.tensor(mcts_probs), self.tensor(winner_batch).reshape(-1, 1)
        log_p, v = self.model(states)
        value_loss = nn.MSELoss()(v, z)
        policy_loss = -torch.einsum("na,na->n", pi, log_p).mean()
        loss = value_loss + policy_loss + l2_penalty(self.model)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            entropy = torch.special.entr(torch.exp(log_p)).sum(dim=1).mean()
        if not torch.isfinite(loss):
            logging.warning("loss is not finite")
        return loss.detach(), entropy

    def save_model(self, path):
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save({name: tensor.cpu() for name, tensor in self.model.state_dict().items()}, path)

    def restore_model(self, path):
        self.model.load_state_dict(torch.load(path, map_location=torch.device("cpu")))
        self.model.eval()

    def print_params(self):
        print(self.model)
