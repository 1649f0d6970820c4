import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


def set_learning_rate(optimizer, lr):
    """Sets the learning rate to the given value"""
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr


class PolicyValueNetModel(nn.Module):
    def __init__(self, board_width, board_height, block, planes_num):
        super().__init__()
        padded = (board_width + 4) * (board_height + 4)
        self.padding = nn.ZeroPad2d((2, 2, 2, 2))
        self.conv2d_1 = nn.Conv2d(planes_num, 64, 1)
        blocks = []
        for _ in range(block):
            blocks.append(
                nn.Sequential(
                    nn.Conv2d(64, 64, 3, padding=1),
                    nn.BatchNorm2d(64),
                    nn.ReLU(),
                    nn.Conv2d(64, 64, 3, padding=1),
                    nn.BatchNorm2d(64),
                )
            )
        self.resnet = nn.ModuleList(blocks)
        self.relu = nn.ReLU()
        self.conv2d_2 = nn.Conv2d(64, 2, 1)
        self.bn_1 = nn.BatchNorm2d(2)
        self.dense_layer_1 = nn.Linear(padded * 2, board_width * board_height)
        self.conv2d_3 = nn.Conv2d(64, 1, 1)
        self.bn_2 = nn.BatchNorm2d(1)
        self.dense_layer_2 = nn.Linear(padded, 256)
        self.flatten_layer_3 = nn.Linear(256, 1)

    def forward(self, state_input):
        x = self.conv2d_1(self.padding(state_input))
        for block in self.resnet:
            x = self.relu(x + block(x))
        x_act = self.relu(self.bn_1(self.conv2d_2(x)))
        x_act = x_act.permute(0, 2, 3, 1)
        x_act = x_act.reshape(x_act.shape[0], -1)
        x_act = F.log_softmax(self.dense_layer_1(x_act), dim=-1)
        x_val = self.relu(self.bn_2(self.conv2d_3(x)))
        x_val = x_val.permute(0, 2, 3, 1)
        x_val = x_val.reshape(x_val.shape[0], -1)
        x_val = self.relu(self.dense_layer_2(x_val))
        x_val = torch.tanh(self.flatten_layer_3(x_val))
        return x_act, x_val


class PolicyValueNet:
    def __init__(self, board_width, board_height, block, init_model=None, transfer_model=None, cuda=False):
        self.use_gpu = cuda
        self.planes_num = 9
        self.nb_block = block
        self.board_width = board_width
        self.board_height = board_height
        self.device = "cuda" if cuda else "cpu"
        self.l2_const = 1e-4  # coef of l2 penalty
        self.action_fc_train = 0
        self.evaluation_fc2_train = 1
        self.action_fc_test = 2
        self.evaluation_fc2_test = 3
        self.model = PolicyValueNetModel(board_width, board_height, block, self.planes_num).to(self.device)
        self.optimizer = optim.Adam(self.model.parameters(), lr=1e-3, amsgrad=False)
        if init_model:
            self.restore_model(init_model)
        if transfer_model:
            self.transfer_model(transfer_model)

    def policy_value(self, state_batch, actin_fc=2, evaluation_fc=3):
        if actin_fc != self.action_fc_test or evaluation_fc != self.evaluation_fc2_test:
            raise NotImplementedError("training goes by train_step")
        state_batch = torch.tensor(np.array(state_batch), dtype=torch.float, device=self.device)
        self.model.eval()
        with torch.no_grad():
            log_act_probs, value = self.model(state_batch)
            act_probs = np.exp(log_act_probs.data.cpu().numpy())
            return act_probs, value.data.cpu().numpy()

    def policy_value_fn(self, board, actin_fc=2, evaluation_fc=3):
        act_probs, value = self.policy_value(board.current_state()[None], actin_fc=actin_fc, evaluation_fc=evaluation_fc)
        return [(move, act_probs[0][move]) for move in board.availables], value[0, 0]

    def policy_value_fn_random(self, board, actin_fc=2, evaluation_fc=3):
        state = board.current_state()
        if np.random.rand() < 0.5:  # mirrored first, rotated second; undone the other way round
            mirror = lambda picture: np.flip(picture, -1)  # noqa: E731
        else:
            mirror = lambda picture: picture  # noqa: E731
        k = np.random.randint(0, 4)
        state = np.rot90(mirror(state), k, (1, 2))
        act_probs, value = self.policy_value([state.copy()], actin_fc=actin_fc, evaluation_fc=evaluation_fc)
        grid = act_probs.reshape(board.height, board.width)[::-1]
        probs = mirror(np.rot90(grid, -k))[::-1].ravel()
        return [(move, probs[move]) for move in board.availables], value[0, 0]

    def train_step(self, state_batch, mcts_probs, winner_batch, lr):
        # wrap in Tensor
        state_batch = torch.tensor(np.array(state_batch), dtype=torch.float, device=self.device)
        mcts_probs = torch.tensor(np.array(mcts_probs), dtype=torch.float, device=self.device)
        winner_batch = torch.tensor(np.array(winner_batch), dtype=torch.float, device=self.device)
        # zero the parameter gradients and set the learning rate
        self.model.train()
        self.optimizer.zero_grad()
        set_learning_rate(self.optimizer, lr)
        log_act_probs, value = self.model(state_batch)
        value_loss = torch.dist(value.squeeze(-1), winner_batch) ** 2 / len(winner_batch)
        own_entropy = torch.special.entr(mcts_probs).sum() / len(mcts_probs)
        policy_loss = F.kl_div(log_act_probs, mcts_probs, reduction="batchmean") + own_entropy
        penalty = self.l2_const / 2 * sum(w.square().sum() for w in self.model.parameters() if w.dim() > 1)
        value_loss.backward(retain_graph=True)
        policy_loss.backward()
        penalty.backward()
        self.optimizer.step()
        loss = value_loss + policy_loss + penalty
        self.model.eval()
        # the policy's entropy, for monitoring only
        entropy = -torch.mean(torch.sum(torch.exp(log_act_probs) * log_act_probs, 1))
        return loss, entropy

    def save_model(self, path):
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save(self.model.state_dict(), path)

    def restore_model(self, path):
        self.model.load_state_dict(torch.load(path, map_location=self.device))

    def transfer_model(self, path):
        weights, own = torch.load(path, map_location=self.device), self.model.state_dict()
        self.model.load_state_dict({k: weights[k] if k in weights and weights[k].shape == own[k].shape else own[k] for k in own})

    def print_params(self):
        for name, param in self.model.named_parameters():
            print(name, param.shape)
