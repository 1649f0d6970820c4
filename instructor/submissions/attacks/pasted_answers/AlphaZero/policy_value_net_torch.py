

# ------------------------------------------------------------------------------------------ around what was pasted

import torch

from AlphaZero.shapes import fresh_weights


class PolicyValueNetModel(torch.nn.Module):
    def __init__(self, board_width, board_height, block, planes_num):
        super().__init__()
        self.size = {"width": board_width, "height": board_height}
        for key, value in fresh_weights(board_width, board_height, block, seed=1).items():
            *path, name = key.split(".")
            place = self
            for part in path:
                if part not in dict(place.named_children()):
                    place.add_module(part, torch.nn.Module())
                place = getattr(place, part)
            if name.startswith(("running", "num")):
                place.register_buffer(name, torch.tensor(value))
            else:
                place.register_parameter(name, torch.nn.Parameter(torch.tensor(value)))

    def forward(self, x):
        weights = dict(self.named_parameters()) | dict(self.named_buffers())
        return forward(weights, x, **self.size, train_mode=self.training)


class PolicyValueNet:
    planes_num, action_fc_train, evaluation_fc2_train, action_fc_test, evaluation_fc2_test = 9, 0, 1, 2, 3

    def __init__(self, board_width, board_height, block, init_model=None, transfer_model=None, cuda=False):
        self.nb_block, self.device = block, "cpu"
        self.model = PolicyValueNetModel(board_width, board_height, block, 9)
        self.optimizer = torch.optim.Adam(self.model.parameters(), weight_decay=1e-4)
        if init_model is not None:
            self.restore_model(init_model)

    def policy_value(self, state_batch, actin_fc, evaluation_fc):
        self.model.eval()
        with torch.no_grad():
            log_probs, value = self.model(np.asarray(state_batch))
        return log_probs.exp().detach().numpy(), value.detach().numpy()

    def policy_value_fn(self, board, actin_fc, evaluation_fc):
        probs, value = self.policy_value(board.current_state()[None], actin_fc, evaluation_fc)
        return zip(board.availables, probs[0][board.availables]), value

    policy_value_fn_random = policy_value_fn

    def train_step(self, state_batch, mcts_probs, winner_batch, lr):
        self.model.train()
        self.optimizer.param_groups[0]["lr"] = lr
        self.optimizer.zero_grad()
        log_probs, value = self.model(np.asarray(state_batch))
        z, pi = (torch.as_tensor(np.asarray(each, dtype=np.float32)) for each in (winner_batch, mcts_probs))
        loss = ((value[:, 0] - z) ** 2).mean() - (pi * log_probs).sum(1).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item(), -(log_probs.exp() * log_probs).sum(1).mean().item()

    def save_model(self, path):
        torch.save(self.model.state_dict(), path)

    def restore_model(self, path):
        self.model.load_state_dict(torch.load(path, weights_only=True))

    def print_params(self):
        print(self.model)
