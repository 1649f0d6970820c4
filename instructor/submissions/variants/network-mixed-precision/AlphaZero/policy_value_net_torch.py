import os
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.cuda.amp import GradScaler, autocast
from torch.nn.utils import parameters_to_vector


class ResBlock(nn.Sequential):
    def __init__(self, channels):
        super().__init__(
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        return F.relu(super().forward(x) + x)


class PolicyValueNetModel(nn.Module):
    def __init__(self, board_width, board_height, block, planes_num, channels=64, hidden=256):
        super().__init__()
        padded = (board_width + 4) * (board_height + 4)
        self.pad = nn.ConstantPad2d(2, 0.0)
        self.conv2d_1 = nn.Conv2d(planes_num, channels, 1)
        self.resnet = nn.Sequential(*(ResBlock(channels) for _ in range(block)))
        self.conv2d_2 = nn.Conv2d(channels, 2, 1)
        self.bn_1 = nn.BatchNorm2d(2)
        self.dense_layer_1 = nn.Linear(2 * padded, board_width * board_height)
        self.conv2d_3 = nn.Conv2d(channels, 1, 1)
        self.bn_2 = nn.BatchNorm2d(1)
        self.dense_layer_2 = nn.Linear(padded, hidden)
        self.flatten_layer_3 = nn.Linear(hidden, 1)
        self.log_softmax = nn.LogSoftmax(dim=1)

    def forward(self, x):
        x = self.resnet(self.conv2d_1(self.pad(x)))
        policy = torch.flatten(F.relu(self.bn_1(self.conv2d_2(x))).permute(0, 2, 3, 1), 1)
        value = torch.flatten(F.relu(self.bn_2(self.conv2d_3(x))).permute(0, 2, 3, 1), 1)
        value = self.flatten_layer_3(F.relu(self.dense_layer_2(value)))
        return self.log_softmax(self.dense_layer_1(policy)), torch.tanh(value)


class PolicyValueNet:
    def __init__(
        self,
        board_width,
        board_height,
        block,
        init_model=None,
        transfer_model=None,
        cuda=False,
        l2_const=1e-4,
        lr=1e-3,
        use_amp=True,
    ):
        self.board_width, self.board_height = board_width, board_height
        self.planes_num, self.nb_block = 9, block
        self.l2_const, self.use_amp = l2_const, use_amp
        if not torch.cuda.is_available():
            print("warning: no GPU, training on the CPU", file=sys.stderr)
        self.device = torch.device("cuda" if cuda and torch.cuda.is_available() else "cpu")
        self.action_fc_train, self.evaluation_fc2_train = 0, 1
        self.action_fc_test, self.evaluation_fc2_test = 2, 3
        self.model = PolicyValueNetModel(board_width, board_height, block, self.planes_num).to(self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.scaler = GradScaler()
        self.history = []
        if init_model:
            self.restore_model(init_model)
        if transfer_model:
            self.model.load_state_dict(torch.load(transfer_model, map_location="cpu"), strict=False)

    def set_learning_rate(self, lr):
        for group in self.optimizer.param_groups:
            group["lr"] = lr

    def l2(self):
        """The squared norm of all weights; batch norm is left out, as is usual."""
        layers = [layer for layer in self.model.modules() if isinstance(layer, (nn.Conv2d, nn.Linear))]
        return parameters_to_vector([layer.weight for layer in layers]).norm() ** 2

    def policy_value(self, state_batch, actin_fc, evaluation_fc):
        assert actin_fc == self.action_fc_test, "use the handles for testing"
        assert evaluation_fc == self.evaluation_fc2_test, "use the handles for testing"
        self.model.eval()
        states = torch.as_tensor(np.asarray(state_batch), dtype=torch.float32, device=self.device)
        with torch.no_grad(), autocast(enabled=self.use_amp):
            log_probs, value = self.model(states)
        return log_probs.float().exp().cpu().numpy(), value.float().cpu().numpy()

    def policy_value_fn(self, board, actin_fc, evaluation_fc):
        legal = board.availables
        state = board.current_state().reshape(-1, self.planes_num, self.board_width, self.board_height)
        probs, value = self.policy_value(state, actin_fc, evaluation_fc)
        return zip(legal, probs[0][legal]), value[0][0]

    def policy_value_fn_random(self, board, actin_fc, evaluation_fc):
        legal = board.availables
        state = board.current_state().reshape(-1, self.planes_num, self.board_width, self.board_height)
        angle, flip = np.random.randint(4), np.random.random() < 0.5
        state = np.rot90(state, angle, axes=(2, 3))
        if flip:
            state = np.flip(state, axis=3)
        probs, value = self.policy_value(state.copy(), actin_fc, evaluation_fc)
        probs = np.flipud(probs[0].reshape(self.board_width, self.board_height))
        if flip:
            probs = np.fliplr(probs)
        probs = np.flipud(np.rot90(probs, -angle)).ravel()
        return zip(legal, probs[legal]), value[0][0]

    def train_step(self, state_batch, mcts_probs, winner_batch, lr):
        self.set_learning_rate(lr)
        self.model.train()
        states = torch.tensor(np.array(state_batch, dtype=np.float32), device=self.device)
        pi = torch.tensor(np.array(mcts_probs, dtype=np.float32), device=self.device)
        z = torch.tensor(np.array(winner_batch, dtype=np.float32), device=self.device)
        self.optimizer.zero_grad()
        with autocast(enabled=self.use_amp):
            log_p, v = self.model(states)
            value_loss = F.mse_loss(v.flatten(), z)
            policy_loss = torch.mean(-torch.sum(pi * log_p, dim=-1))
            loss = value_loss + policy_loss + 0.5 * self.l2_const * self.l2()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        with torch.no_grad():
            entropy = torch.mean(-torch.sum(log_p.exp() * log_p, dim=-1))
        self.history.append(float(loss))
        return loss.data.cpu().numpy(), entropy.data.cpu().numpy()

    def save_model(self, path):
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        torch.save(self.model.state_dict(), path)

    def restore_model(self, path):
        self.model.load_state_dict(torch.load(path, map_location=self.device, weights_only=True))

    def print_params(self):
        for name, param in self.model.named_parameters():
            print(name, tuple(param.shape))
