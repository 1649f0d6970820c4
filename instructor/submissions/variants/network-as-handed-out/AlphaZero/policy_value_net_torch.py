import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class PolicyValueNetModel(nn.Module):
    def __init__(self, board_width, board_height, block, planes_num):
        super(PolicyValueNetModel, self).__init__()
        self.board_width = board_width
        self.board_height = board_height
        self.nb_block = block
        flat = (board_width + 4) * (board_height + 4)

        self.conv2d_1 = nn.Conv2d(in_channels=planes_num, out_channels=64, kernel_size=1)
        self.resnet = nn.ModuleList()
        for i in range(block):
            self.resnet.append(
                nn.Sequential(
                    nn.Conv2d(64, 64, kernel_size=3, stride=1, padding=1),
                    nn.BatchNorm2d(64),
                    nn.ReLU(inplace=True),
                    nn.Conv2d(64, 64, kernel_size=3, stride=1, padding=1),
                    nn.BatchNorm2d(64),
                )
            )
        # policy
        self.conv2d_2 = nn.Conv2d(64, 2, kernel_size=1)
        self.bn_1 = nn.BatchNorm2d(2)
        self.dense_layer_1 = nn.Linear(2 * flat, board_width * board_height)
        # value
        self.conv2d_3 = nn.Conv2d(64, 1, kernel_size=1)
        self.bn_2 = nn.BatchNorm2d(1)
        self.dense_layer_2 = nn.Linear(flat, 256)
        self.flatten_layer_3 = nn.Linear(256, 1)

    def forward(self, x):
        x = F.pad(x, (2, 2, 2, 2), "constant", 0)
        x = self.conv2d_1(x)
        for block in self.resnet:
            residual = x
            out = block(x)
            out = out + residual
            x = F.relu(out)

        act = F.relu(self.bn_1(self.conv2d_2(x)))
        act = act.permute(0, 2, 3, 1).contiguous()
        act = act.view(act.size(0), -1)
        act = F.log_softmax(self.dense_layer_1(act), dim=1)

        val = F.relu(self.bn_2(self.conv2d_3(x)))
        val = val.permute(0, 2, 3, 1).contiguous().view(val.size(0), -1)
        val = F.relu(self.dense_layer_2(val))
        val = torch.tanh(self.flatten_layer_3(val))
        return act, val


class PolicyValueNet:
    def __init__(self, board_width, board_height, block, init_model=None, transfer_model=None, cuda=False):
        self.planes_num = 9
        self.nb_block = block
        self.board_width = board_width
        self.board_height = board_height
        self.l2_const = 1e-4
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        print("device:", self.device)

        self.action_fc_train = 0
        self.evaluation_fc2_train = 1
        self.action_fc_test = 2
        self.evaluation_fc2_test = 3

        self.model = PolicyValueNetModel(board_width, board_height, block, self.planes_num).to(self.device)
        self.optimizer = optim.Adam(self.model.parameters(), lr=1e-3)

        if init_model is not None:
            self.restore_model(init_model)
            print("model loaded!")
        elif transfer_model is not None:
            weights = torch.load(transfer_model, map_location=self.device)
            own = self.model.state_dict()
            own.update({k: v for k, v in weights.items() if k in own and v.shape == own[k].shape})
            self.model.load_state_dict(own)

    def policy_value(self, state_batch, actin_fc, evaluation_fc):
        assert actin_fc == self.action_fc_test
        assert evaluation_fc == self.evaluation_fc2_test
        self.model.eval()
        state_batch = torch.from_numpy(np.array(state_batch)).float().to(self.device)
        with torch.no_grad():
            log_act_probs, value = self.model(state_batch)
        act_probs = np.exp(log_act_probs.cpu().numpy())
        return act_probs, value.cpu().numpy()

    def policy_value_fn(self, board, actin_fc, evaluation_fc):
        legal_positions = board.availables
        current_state = np.ascontiguousarray(
            board.current_state().reshape(-1, self.planes_num, self.board_width, self.board_height)
        )
        act_probs, value = self.policy_value(current_state, actin_fc, evaluation_fc)
        act_probs = act_probs.flatten()
        return zip(legal_positions, act_probs[legal_positions]), value

    def policy_value_fn_random(self, board, actin_fc, evaluation_fc):
        legal_positions = board.availables
        current_state = board.current_state().reshape(-1, self.planes_num, self.board_width, self.board_height)

        rotate_angle = np.random.randint(1, 5)
        flip = np.random.randint(0, 2)
        equi_state = np.array([np.rot90(plane, rotate_angle) for plane in current_state[0]])
        if flip:
            equi_state = np.array([np.fliplr(plane) for plane in equi_state])

        act_probs, value = self.policy_value(equi_state[np.newaxis], actin_fc, evaluation_fc)

        # undo: first the flip, then the rotation
        equi_probs = np.flipud(act_probs[0].reshape(self.board_height, self.board_width))
        if flip:
            equi_probs = np.fliplr(equi_probs)
        equi_probs = np.rot90(equi_probs, 4 - rotate_angle)
        act_probs = np.flipud(equi_probs).flatten()
        return zip(legal_positions, act_probs[legal_positions]), value

    def train_step(self, state_batch, mcts_probs, winner_batch, lr):
        self.model.train()
        state_batch = torch.FloatTensor(np.array(state_batch)).to(self.device)
        mcts_probs = torch.FloatTensor(np.array(mcts_probs)).to(self.device)
        winner_batch = torch.FloatTensor(np.array(winner_batch)).to(self.device)

        self.optimizer.zero_grad()
        for param_group in self.optimizer.param_groups:
            param_group["lr"] = lr

        log_act_probs, value = self.model(state_batch)
        value_loss = F.mse_loss(value.view(-1), winner_batch)
        policy_loss = -torch.mean(torch.sum(mcts_probs * log_act_probs, 1))
        l2_loss = 0
        for param in self.model.parameters():
            if param.dim() > 1:
                l2_loss += param.norm(2).pow(2)
        loss = value_loss + policy_loss + self.l2_const / 2 * l2_loss
        loss.backward()
        self.optimizer.step()

        entropy = -torch.mean(torch.sum(torch.exp(log_act_probs) * log_act_probs, 1))
        return loss.item(), entropy.item()

    def save_model(self, path):
        folder = os.path.dirname(path)
        if folder and not os.path.exists(folder):
            os.makedirs(folder)
        torch.save(self.model.state_dict(), path)

    def restore_model(self, path):
        if not os.path.exists(path):
            raise FileNotFoundError(path)
        self.model.load_state_dict(torch.load(path, map_location=self.device))

    def print_params(self):
        print("total number of parameters:", sum(p.numel() for p in self.model.parameters()))
