import random
from pathlib import Path

import numpy as np
import torch
from torch import nn


class PolicyValueNetModel(nn.Module):
    def __init__(self, board_width, board_height, block, planes_num):
        super().__init__()
        self.board_size = (board_height, board_width)
        area = (board_height + 4) * (board_width + 4)
        self.conv2d_1 = nn.Conv2d(planes_num, 64, 1, padding=(2, 2))
        self.resnet = nn.ModuleList()
        for _ in range(block):
            layers = nn.ModuleDict()
            for place in (0, 3):
                layers[str(place)] = nn.Conv2d(64, 64, (3, 3), padding=(1, 1))
                layers[str(place + 1)] = nn.BatchNorm2d(64)
            self.resnet.append(layers)
        self.conv2d_2, self.bn_1 = nn.Conv2d(64, 2, 1), nn.BatchNorm2d(2)
        self.dense_layer_1 = nn.Linear(2 * area, board_height * board_width)
        self.conv2d_3, self.bn_2 = nn.Conv2d(64, 1, 1), nn.BatchNorm2d(1)
        self.dense_layer_2 = nn.Linear(area, 256)
        self.flatten_layer_3 = nn.Linear(256, 1)

    def forward(self, x):
        x = self.conv2d_1(x)
        for layers in self.resnet:
            y = torch.relu(layers["1"](layers["0"](x)))
            x = torch.relu(layers["4"](layers["3"](y)) + x)
        policy = torch.relu(self.bn_1(self.conv2d_2(x)))
        policy = torch.stack([channel.flatten(1) for channel in policy.unbind(1)], dim=2).flatten(1)
        value = torch.relu(self.bn_2(self.conv2d_3(x))).squeeze(1).flatten(1)
        value = torch.relu(self.dense_layer_2(value))
        return nn.functional.log_softmax(self.dense_layer_1(policy), 1), torch.tanh(self.flatten_layer_3(value))


class PolicyValueNet:
    def __init__(self, board_width, board_height, block, init_model=None, transfer_model=None, cuda=False):
        self.board_width, self.board_height = board_width, board_height
        self.planes_num, self.nb_block = 9, block
        self.device = torch.device("cuda") if cuda else torch.device("cpu")
        self.action_fc_train = 0
        self.evaluation_fc2_train = 1
        self.action_fc_test = 2
        self.evaluation_fc2_test = 3
        self.model = PolicyValueNetModel(board_width, board_height, block, 9).double().to(self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.tables = list(self.symmetries())
        if init_model:
            self.restore_model(init_model)
        if transfer_model:
            self.restore_model(transfer_model)

    def symmetries(self):
        """For each symmetry of a square board: where each point of the turned picture comes from."""
        points = np.arange(self.board_width * self.board_height).reshape(self.board_height, self.board_width)
        for picture in (points, points.T) if self.board_width == self.board_height else (points,):
            for up in (1, -1):
                for left in (1, -1):
                    yield picture[::up, ::left]

    def policy_value(self, state_batch, actin_fc, evaluation_fc):
        self.model.eval()
        probs, values = [], []
        for state in state_batch:
            with torch.no_grad():
                x = torch.as_tensor(np.asarray(state, dtype=np.float64)[None]).to(self.device)
                log_probs, value = self.model(x)
            p = np.exp(log_probs.cpu().numpy().astype(np.float64))
            probs.append(p / p.sum())
            values.append(value.cpu().numpy().astype(np.float64))
        return np.concatenate(probs), np.concatenate(values)

    def policy_value_fn(self, board, actin_fc, evaluation_fc):
        probs, value = self.policy_value([board.current_state()], actin_fc, evaluation_fc)
        return self.over_legal(board, probs[0]), float(value[0, 0])

    def policy_value_fn_random(self, board, actin_fc, evaluation_fc):
        table = random.choice(self.tables)
        state = board.current_state()
        turned = state.reshape(len(state), -1)[:, table]
        probs, value = self.policy_value([turned], actin_fc, evaluation_fc)
        picture = np.empty(self.board_width * self.board_height)
        picture[table.ravel()] = probs[0].reshape(table.shape)[::-1].ravel()
        back = picture.reshape(self.board_height, self.board_width)[::-1].ravel()
        return self.over_legal(board, back), float(value[0, 0])

    @staticmethod
    def over_legal(board, probs):
        total = sum(probs[move] for move in board.availables) + 1e-12
        return [(move, float(probs[move] / total)) for move in board.availables]

    def train_step(self, state_batch, mcts_probs, winner_batch, lr):
        x = torch.as_tensor(np.stack(state_batch), dtype=torch.float64, device=self.device)
        pi = torch.as_tensor(np.stack(mcts_probs), dtype=torch.float64, device=self.device)
        z = torch.as_tensor(np.asarray(winner_batch), dtype=torch.float64, device=self.device).unsqueeze(1)
        self.optimizer.param_groups[0]["lr"] = lr
        self.model.train(True)
        log_p, v = self.model(x)
        loss = torch.mean((z - v) ** 2) - (pi * log_p).sum() / len(x)
        for layer in self.model.modules():
            if isinstance(layer, (nn.Conv2d, nn.Linear, nn.BatchNorm2d)):
                loss = loss + 5e-5 * torch.norm(layer.weight, p=2) ** 2
        self.model.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        log_p = log_p.detach().cpu().numpy().astype(np.float64)
        entropy = -np.mean(np.sum(np.exp(log_p) * log_p, axis=1))
        self.model.train(False)
        return np.float64(loss.item()), entropy

    def save_model(self, path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        torch.save(self.model.state_dict(), path)

    def restore_model(self, path):
        state = torch.load(path, map_location=lambda storage, place: storage)
        for name, tensor in self.model.state_dict().items():
            if name.endswith("num_batches_tracked"):
                state.setdefault(name, tensor)
        self.model.load_state_dict(state)

    def print_params(self):
        print(sum(w.numel() for w in self.model.parameters()), "parameters")
