"""The policy-value network and its training step in PyTorch (handout sections 5.2 and 5.3).

The network follows Silver et al. 2017: a residual tower, a policy head that gives the log probabilities of all moves, and a
value head that gives the expected result in [-1, 1], both for the side to move. States are float32 [N, 9, H, W] as
Board.current_state returns them (row 0 is the top row). Moves are numbered h * width + w from the bottom row, and the policy
head learns that order.
"""

import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

L2_CONST = 1e-4


class PolicyValueNetModel(nn.Module):
    """The layers of the network, named as in the published weights.

    With A = (board_height + 4) * (board_width + 4):

        conv2d_1          1x1, planes_num -> 64; the input is padded with 2 zeros on each side BEFORE this layer
        resnet.{i}        `block` residual blocks of 64 channels: 0 conv 3x3 padding 1, 1 batch norm, 2 relu,
                          3 conv 3x3 padding 1, 4 batch norm; then add the block's input and apply relu
        conv2d_2, bn_1    1x1, 64 -> 2, batch norm, relu, permute to NHWC, flatten
        dense_layer_1     2A -> board_width * board_height, log softmax                       (policy head)
        conv2d_3, bn_2    1x1, 64 -> 1, batch norm, relu, permute to NHWC, flatten
        dense_layer_2     A -> 256, relu
        flatten_layer_3   256 -> 1, tanh                                                      (value head)

    The permute matters: the published weights belong to a network that flattens in the order row, column, channel.

    Args:
        board_width, board_height: number of columns and rows of the board.
        block: number of residual blocks.
        planes_num: number of feature planes (9).
    """

    def __init__(self, board_width, board_height, block, planes_num):
        super().__init__()
        ### BEGIN SOLUTION 5.2
        points = board_width * board_height
        padded = (board_width + 4) * (board_height + 4)
        self.conv2d_1 = nn.Conv2d(planes_num, 64, kernel_size=1, padding=2)
        self.resnet = nn.ModuleList([self._residual_layers() for _ in range(block)])
        self.conv2d_2 = nn.Conv2d(64, 2, kernel_size=1)
        self.bn_1 = nn.BatchNorm2d(2)
        self.dense_layer_1 = nn.Linear(2 * padded, points)
        self.conv2d_3 = nn.Conv2d(64, 1, kernel_size=1)
        self.bn_2 = nn.BatchNorm2d(1)
        self.dense_layer_2 = nn.Linear(padded, 256)
        self.flatten_layer_3 = nn.Linear(256, 1)
        ### END SOLUTION

    def _residual_layers(self):
        """Build the layers of one residual block: conv, batch norm, relu, conv, batch norm."""
        ### BEGIN SOLUTION 5.2
        return nn.Sequential(
            nn.Conv2d(64, 64, kernel_size=3, padding=1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.Conv2d(64, 64, kernel_size=3, padding=1),
            nn.BatchNorm2d(64),
        )
        ### END SOLUTION

    def forward(self, x):
        """Compute both heads.

        Args:
            x: float32 [N, planes_num, board_height, board_width].

        Returns:
            (log_probs [N, board_width * board_height], value [N, 1] in [-1, 1])
        """
        ### BEGIN SOLUTION 5.2
        # A 1x1 convolution turns padded zeros into its bias, so padding in the layer is the same as padding before it.
        x = self.conv2d_1(x)
        for layers in self.resnet:
            x = F.relu(x + layers(x))
        policy = F.relu(self.bn_1(self.conv2d_2(x)))
        policy = policy.permute(0, 2, 3, 1).flatten(start_dim=1)
        log_probs = F.log_softmax(self.dense_layer_1(policy), dim=1)
        value = F.relu(self.bn_2(self.conv2d_3(x)))
        value = value.permute(0, 2, 3, 1).flatten(start_dim=1)
        value = F.relu(self.dense_layer_2(value))
        value = torch.tanh(self.flatten_layer_3(value))
        return log_probs, value
        ### END SOLUTION


class PolicyValueNet:
    """The network with its optimiser, as training and search use it.

    Args:
        board_width, board_height: number of columns and rows of the board.
        block: number of residual blocks (published: 1 for 3x3, 19 for 11x11 and 15x15).
        init_model: a weights file to start from; every layer must fit.
        transfer_model: a weights file for another board size; only the layers that fit are used.
        cuda: whether to compute on the GPU.

    Attributes:
        planes_num, nb_block: number of feature planes (9) and of residual blocks.
        model: the PolicyValueNetModel.
        optimizer: the optimiser of the model's parameters.
        device: the torch device that holds the model and the batches.
        action_fc_train, evaluation_fc2_train, action_fc_test, evaluation_fc2_test: handles 0 to 3. In an earlier version
            they selected one of two copies of the network. Now there is only one copy, and every call passes the two
            handles for testing.
    """

    def __init__(self, board_width, board_height, block, init_model=None, transfer_model=None, cuda=False):
        if cuda and not torch.cuda.is_available():
            raise ValueError("expected a GPU for cuda=True, but torch finds none; use cuda=False")
        self.board_width = board_width
        self.board_height = board_height
        self.planes_num = 9
        self.nb_block = block
        self.device = torch.device("cuda" if cuda else "cpu")
        self.action_fc_train = 0
        self.evaluation_fc2_train = 1
        self.action_fc_test = 2
        self.evaluation_fc2_test = 3
        self.model = PolicyValueNetModel(board_width, board_height, block, self.planes_num).to(self.device)
        self.model.eval()
        self.optimizer = optim.Adam(self.model.parameters(), lr=1e-3)
        if init_model:
            self.restore_model(init_model)
        elif transfer_model:
            self._transfer(transfer_model)

    def policy_value(self, state_batch, actin_fc, evaluation_fc):
        """Evaluate a batch of states, with batch norm in eval mode even after a train_step.

        Args:
            state_batch: [N, 9, H, W], an array or a list of states.
            actin_fc, evaluation_fc: handles; see the class.

        Returns:
            (probs [N, W*H], value [N, 1]) as numpy arrays; probabilities, not log probabilities.
        """
        ### BEGIN SOLUTION 5.2
        states = torch.from_numpy(np.asarray(state_batch, dtype=np.float32)).to(self.device)
        if self.model.training:
            self.model.eval()
        with torch.inference_mode():
            log_probs, value = self.model(states)
        return log_probs.exp().cpu().numpy(), value.cpu().numpy()
        ### END SOLUTION

    def policy_value_fn(self, board, actin_fc, evaluation_fc):
        """Evaluate one position (provided).

        Returns:
            (iterable of (legal move, probability), value): value is a (1, 1) array, for the side to move.
        """
        legal_moves = board.availables
        probs, value = self.policy_value(board.current_state()[np.newaxis], actin_fc, evaluation_fc)
        return zip(legal_moves, probs[0][legal_moves]), value

    def policy_value_fn_random(self, board, actin_fc, evaluation_fc):
        """Evaluate one position through a random symmetry of the board, which is undone on the moves (provided).

        A square board has eight symmetries, any other board has four. The return value is like that of policy_value_fn.
        """
        height, width = board.height, board.width
        state = board.current_state()
        if height == width:
            turns, mirror = np.random.randint(4), np.random.randint(2)
        else:
            turns, mirror = 2 * np.random.randint(2), np.random.randint(2)
        turned = np.rot90(state, turns, axes=(1, 2))
        if mirror:
            turned = turned[:, :, ::-1]
        probs, value = self.policy_value(np.ascontiguousarray(turned)[np.newaxis], actin_fc, evaluation_fc)
        # Moves count rows from the bottom, states from the top. Turn the picture back in the orientation of the states.
        picture = probs[0].reshape(height, width)[::-1]
        if mirror:
            picture = picture[:, ::-1]
        picture = np.rot90(picture, -turns)
        probs = picture[::-1].reshape(-1)
        legal_moves = board.availables
        return zip(legal_moves, probs[legal_moves]), value

    def train_step(self, state_batch, mcts_probs, winner_batch, lr):
        """Take one step of the optimiser on

            mean (z - v)^2  -  mean sum_a pi(a) log p(a)  +  1e-4 / 2 * ||w||^2

        where w are all parameters that are not biases. The scales of batch norm may be left out, and weight decay in the
        optimiser may replace that term. The network must be in train mode, so that batch norm uses and learns the statistics
        of the batch. Clear the gradients of earlier steps first.

        Args:
            state_batch: [N, 9, H, W], an array or a list.
            mcts_probs: pi, [N, W*H], an array or a list.
            winner_batch: z in {1, 0, -1}, [N], for the side to move.
            lr: learning rate of this step.

        Returns:
            (loss, entropy): floats; the entropy, in nats, of the policy that the loss was computed from (before the step).
        """
        ### BEGIN SOLUTION 5.3
        states = torch.from_numpy(np.asarray(state_batch, dtype=np.float32)).to(self.device)
        targets = torch.from_numpy(np.asarray(mcts_probs, dtype=np.float32)).to(self.device)
        winners = torch.from_numpy(np.asarray(winner_batch, dtype=np.float32)).to(self.device).reshape(-1)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.model.train()
        self.optimizer.zero_grad()
        log_probs, value = self.model(states)
        value_loss = F.mse_loss(value.reshape(-1), winners)
        policy_loss = -(targets * log_probs).sum(dim=1).mean()
        weights = [w for name, w in self.model.named_parameters() if not name.endswith("bias")]
        l2_penalty = L2_CONST / 2 * sum(w.pow(2).sum() for w in weights)
        loss = value_loss + policy_loss + l2_penalty
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            entropy = -(log_probs.exp() * log_probs).sum(dim=1).mean()
        return loss.item(), entropy.item()
        ### END SOLUTION

    def save_model(self, path):
        """Write the weights as a bare state_dict (provided).

        A missing folder is created. An existing file is replaced only when the new one is complete.
        """
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        unfinished = f"{path}.part"
        torch.save(self.model.state_dict(), unfinished)
        os.replace(unfinished, path)

    def restore_model(self, path):
        """Load a weights file in which every layer fits (provided).

        Raises:
            FileNotFoundError: if the file does not exist.
            RuntimeError: if a layer is missing, unknown or of another shape; the message names the layer.
        """
        self.model.load_state_dict(self._read(path), strict=True)

    def print_params(self):
        """Print the name and shape of each layer, and the number of parameters (provided)."""
        total = 0
        for name, parameter in self.model.named_parameters():
            print(f"{name:40} {list(parameter.shape)}")
            total += parameter.numel()
        print(f"{total} parameters")

    def _read(self, path):
        """Read a weights file, saved on any device, as a state_dict (provided).

        Converted files may lack num_batches_tracked, which is then 0.
        """
        if not os.path.isfile(path):
            raise FileNotFoundError(f"expected a weights file at {path}; nothing is there")
        state = torch.load(path, map_location=self.device, weights_only=True)
        for name in self.model.state_dict():
            if name.endswith("num_batches_tracked"):
                state.setdefault(name, torch.tensor(0))
        return state

    def _transfer(self, path):
        """Load the layers of another network whose names and shapes match (provided)."""
        own = self.model.state_dict()
        fitting = {name: w for name, w in self._read(path).items() if name in own and w.shape == own[name].shape}
        self.model.load_state_dict({**own, **fitting})
