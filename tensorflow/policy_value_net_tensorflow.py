"""The policy-value network in TensorFlow, variable for variable as the checkpoints of earlier years hold it.

The same function as AlphaZero/policy_value_net_torch.py (Silver et al. 2017): states are float32 [N, 9, H, W] as
Board.current_state gives them, row 0 the top row; moves are numbered h * width + w from the bottom row; values are seen by
the side to move. A graph of tf.compat.v1 variables, since only these carry the names `model/<layer>/<param>` into a
checkpoint. CPU or GPU, TensorFlow 2.

This folder is no package, so that `import tensorflow` reaches the real one: put it on sys.path, then
`from policy_value_net_tensorflow import PolicyValueNet`.
"""

import os

import numpy as np

import tensorflow as tf

if getattr(tf, "__file__", None) is None:  # this very folder, which Python takes for a package where there is no other
    raise ModuleNotFoundError("TensorFlow is not installed: python -m pip install -r requirements-convert.txt")

tf1 = tf.compat.v1

CHANNELS = 64
DENSE = 256
L2_CONST = 1e-4
BN_EPSILON = 1e-5
BN_MOMENTUM = 0.1  # the share of the batch in the moving statistics, as torch counts it


class PolicyValueNet:
    """The network with its optimiser and its session.

    Args:
        board_width, board_height: of the board.
        block: number of residual blocks (published: 1 for 3x3, 19 for 11x11 and 15x15).
        init_model: a checkpoint (its path without `.index`) to start from; it must fit in every variable.
        transfer_model: a checkpoint of another board size; only variables that fit are taken.
        cuda: whether to compute on a GPU.

    Attributes:
        planes_num, nb_block: feature planes (9) and residual blocks.
        graph, session: where the network lives.
        action_fc_train, evaluation_fc2_train: tensors log_probs [N, W*H] and value [N, 1] with batch norm by the batch.
        action_fc_test, evaluation_fc2_test: the same tensors with batch norm by the moving statistics, as search wants them.
    """

    def __init__(self, board_width, board_height, block, init_model=None, transfer_model=None, cuda=False):
        if cuda and not tf.config.list_physical_devices("GPU"):
            raise ValueError("expected a GPU for cuda=True, and TensorFlow finds none; use cuda=False")
        self.board_width = board_width
        self.board_height = board_height
        self.planes_num = 9
        self.nb_block = block
        self.graph = tf.Graph()
        self.session = tf1.Session(graph=self.graph, config=tf1.ConfigProto(device_count={} if cuda else {"GPU": 0}))
        self._statistics = []  # assignments of the moving means and variances
        self._train_op = None  # made by the first train_step: gradients take seconds to build and search needs none
        with self.graph.as_default():
            self._states = tf1.placeholder(tf.float32, [None, self.planes_num, board_height, board_width], name="states")
            self.action_fc_test, self.evaluation_fc2_test = self._network(train_mode=False)
            self.action_fc_train, self.evaluation_fc2_train = self._network(train_mode=True)
            self._weights = tf1.global_variables()  # with the moving statistics
            self._saver = tf1.train.Saver(self._weights, max_to_keep=None)
            self.session.run(tf1.global_variables_initializer())
        if init_model:
            self.restore_model(init_model)
        elif transfer_model:
            self._transfer(transfer_model)

    # ------------------------------------------------------------------------------------------------- the layers

    def _network(self, train_mode):
        """(log_probs [N, W*H], value [N, 1]) of the placeholder; both modes share their variables."""
        with tf1.variable_scope("model", reuse=tf1.AUTO_REUSE):
            x = tf.transpose(self._states, [0, 2, 3, 1])  # to NHWC, in which the flattened heads are ordered
            x = tf.pad(x, [[0, 0], [2, 2], [2, 2], [0, 0]])
            x = self._conv(x, "conv2d_1", CHANNELS, 1)
            for i in range(self.nb_block):
                y = self._conv(x, f"resnet_conv2d_{i}_1", CHANNELS, 3)
                y = tf.nn.relu(self._batch_norm(y, f"resnet_bn_{i}_1", train_mode))
                y = self._conv(y, f"resnet_conv2d_{i}_2", CHANNELS, 3)
                x = tf.nn.relu(x + self._batch_norm(y, f"resnet_bn_{i}_2", train_mode))
            policy = tf.nn.relu(self._batch_norm(self._conv(x, "conv2d_2", 2, 1), "bn_1", train_mode))
            log_probs = tf.nn.log_softmax(self._dense(policy, "dense_layer_1", self.board_width * self.board_height))
            value = tf.nn.relu(self._batch_norm(self._conv(x, "conv2d_3", 1, 1), "bn_2", train_mode))
            value = tf.nn.relu(self._dense(value, "dense_layer_2", DENSE))
            value = tf.tanh(self._dense(value, "flatten_layer_3", 1))
        return log_probs, value

    def _conv(self, x, name, filters, size):
        """A convolution that keeps height and width, [N, H, W, in] -> [N, H, W, filters]."""
        with tf1.variable_scope(name):
            kernel = _matrix("kernel", [size, size, x.shape[3], filters])
            bias = tf1.get_variable("bias", [filters], initializer=tf1.zeros_initializer())
            return tf.nn.conv2d(x, kernel, strides=1, padding="SAME") + bias

    def _dense(self, x, name, units):
        """A dense layer of x flattened in the order row, column, channel."""
        size = int(np.prod(x.shape[1:]))
        with tf1.variable_scope(name):
            weight = _matrix("W", [size, units])
            bias = tf1.get_variable("b", [units], initializer=tf1.zeros_initializer())
            return tf.reshape(x, [-1, size]) @ weight + bias

    def _batch_norm(self, x, name, train_mode):
        # Not tf1.nn.fused_batch_norm, which silently raises an epsilon of 1e-5 to 1.001e-5.
        size = [x.shape[3]]
        zeros, ones = tf1.zeros_initializer(), tf1.ones_initializer()
        with tf1.variable_scope(name):
            gamma = tf1.get_variable("gamma", size, initializer=ones)
            beta = tf1.get_variable("beta", size, initializer=zeros)
            mean = tf1.get_variable("moving_mean", size, initializer=zeros, trainable=False)
            variance = tf1.get_variable("moving_variance", size, initializer=ones, trainable=False)
            if not train_mode:
                return tf.nn.batch_normalization(x, mean, variance, beta, gamma, BN_EPSILON)
            batch_mean, batch_variance = tf.nn.moments(x, [0, 1, 2])
            count = tf.cast(tf.reduce_prod(tf.shape(x)[:3]), tf.float32)
            unbiased = batch_variance * count / (count - 1)
            for moving, seen in ((mean, batch_mean), (variance, unbiased)):
                self._statistics.append(tf1.assign(moving, (1 - BN_MOMENTUM) * moving + BN_MOMENTUM * seen))
            return tf.nn.batch_normalization(x, batch_mean, batch_variance, beta, gamma, BN_EPSILON)

    def _build_training(self):
        """Loss, entropy and the optimiser's step; adds `.../Adam`, `.../Adam_1` and the beta powers to what is saved."""
        with self.graph.as_default():
            self._mcts_probs = tf1.placeholder(tf.float32, [None, self.board_width * self.board_height], name="mcts_probs")
            self._winners = tf1.placeholder(tf.float32, [None], name="winners")
            self._learning_rate = tf1.placeholder(tf.float32, [], name="learning_rate")
            log_probs, value = self.action_fc_train, self.evaluation_fc2_train
            value_loss = tf.reduce_mean(tf.square(self._winners - value[:, 0]))
            policy_loss = -tf.reduce_mean(tf.reduce_sum(self._mcts_probs * log_probs, axis=1))
            trained = tf1.trainable_variables()
            weights = [w for w in trained if not w.op.name.endswith(("/bias", "/b", "/beta"))]
            self._loss = value_loss + policy_loss + L2_CONST * tf.add_n([tf.nn.l2_loss(w) for w in weights])
            self._entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(log_probs) * log_probs, axis=1))
            optimizer = tf1.train.AdamOptimizer(self._learning_rate)
            self._train_op = tf.group(optimizer.minimize(self._loss, var_list=trained), *self._statistics)
            self.session.run(tf1.variables_initializer(optimizer.variables()))
            self._saver = tf1.train.Saver(tf1.global_variables(), max_to_keep=None)

    # --------------------------------------------------------------------------------------------- what others use

    def policy_value(self, state_batch, actin_fc, evaluation_fc):
        """Both heads on a batch of states.

        Args:
            state_batch: [N, 9, H, W], an array or a list of states.
            actin_fc, evaluation_fc: the tensors to compute, see the class.

        Returns:
            (probs [N, W*H], value [N, 1]) as numpy arrays: probabilities, not their logarithms.
        """
        states = np.asarray(state_batch, dtype=np.float32)
        log_probs, value = self.session.run([actin_fc, evaluation_fc], {self._states: states})
        return np.exp(log_probs), value

    def policy_value_fn(self, board, actin_fc, evaluation_fc):
        """What the network says about a position.

        Returns:
            (iterable of (legal move, probability), value): value is a (1, 1) array for the side to move.
        """
        legal_moves = board.availables
        probs, value = self.policy_value(board.current_state()[np.newaxis], actin_fc, evaluation_fc)
        return zip(legal_moves, probs[0][legal_moves], strict=True), value

    def policy_value_fn_random(self, board, actin_fc, evaluation_fc):
        """As policy_value_fn, seen through one random symmetry of the board, which is undone on the moves."""
        square = board.height == board.width
        turns = np.random.randint(4) if square else 2 * np.random.randint(2)
        mirror = np.random.randint(2)
        # The points of the board as the state shows them, top row first, carried through the same symmetry as the state.
        points = np.arange(board.width * board.height).reshape(board.height, board.width)[::-1]
        state, points = np.rot90(board.current_state(), turns, axes=(1, 2)), np.rot90(points, turns)
        if mirror:
            state, points = state[:, :, ::-1], points[:, ::-1]
        seen, value = self.policy_value(state[np.newaxis], actin_fc, evaluation_fc)
        probs = np.empty_like(seen[0])
        probs[points[::-1].reshape(-1)] = seen[0]
        legal_moves = board.availables
        return zip(legal_moves, probs[legal_moves], strict=True), value

    def train_step(self, state_batch, mcts_probs, winner_batch, lr):
        """One step of Adam on

            mean (z - v)^2  -  mean sum_a pi(a) log p(a)  +  1e-4 / 2 * ||w||^2

        where w are all parameters that are no biases (batch norm's scales among them), with batch norm by the batch.

        Args:
            state_batch: [N, 9, H, W], array or list.
            mcts_probs: pi, [N, W*H], array or list.
            winner_batch: z in {1, 0, -1}, [N], for the side to move.
            lr: learning rate of this step.

        Returns:
            (loss, entropy): floats; the entropy is that of the network's policy on this batch, in nats.
        """
        if self._train_op is None:
            self._build_training()
        fed = {
            self._states: np.asarray(state_batch, dtype=np.float32),
            self._mcts_probs: np.asarray(mcts_probs, dtype=np.float32),
            self._winners: np.asarray(winner_batch, dtype=np.float32).reshape(-1),
            self._learning_rate: lr,
        }
        loss, entropy, _ = self.session.run([self._loss, self._entropy, self._train_op], fed)
        return float(loss), float(entropy)

    def save_model(self, path):
        """Write `path`.index and `path`.data-00000-of-00001; the folder is made if it is missing.

        Adam's averages are written with the weights once there has been a train_step.
        """
        path = os.path.abspath(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with self.graph.as_default():
            self._saver.save(self.session, path, write_meta_graph=False, write_state=False)

    def restore_model(self, path):
        """Load the weights of a checkpoint that fits in every variable; the optimiser stays as it is, as with torch.

        Raises:
            FileNotFoundError: there is no such checkpoint.
            RuntimeError: a variable is missing or of another shape; the message names it.
        """
        fitting = self._fitting(path)
        wrong = [variable.op.name for variable in self._weights if variable.op.name not in fitting]
        if wrong:
            raise RuntimeError(f"expected the variables of this network in {path}; missing or misshaped: {', '.join(wrong)}")
        self._restore(fitting, path)

    def print_params(self):
        """Print each trained variable's name and shape and the number of parameters."""
        total = 0
        with self.graph.as_default():
            for variable in tf1.trainable_variables():
                print(f"{variable.op.name:40} {variable.shape.as_list()}")
                total += variable.shape.num_elements()
        print(f"{total} parameters")

    def _fitting(self, path):
        """Name -> variable of this network, of those that a checkpoint holds in the same shape."""
        if not os.path.isfile(f"{path}.index"):
            raise FileNotFoundError(f"expected a checkpoint at {path}; there is no {path}.index")
        shapes = tf.train.load_checkpoint(os.path.abspath(path)).get_variable_to_shape_map()
        return {v.op.name: v for v in self._weights if shapes.get(v.op.name) == v.shape.as_list()}

    def _restore(self, variables, path):
        with self.graph.as_default():
            tf1.train.Saver(variables).restore(self.session, os.path.abspath(path))

    def _transfer(self, path):
        """Take the variables of another network that fit by name and shape."""
        self._restore(self._fitting(path), path)


def _matrix(name, shape):
    """A kernel or weight matrix, drawn at first as torch draws it: uniform within 1 / sqrt(fan in)."""
    drawn = tf1.variance_scaling_initializer(scale=1 / 3, mode="fan_in", distribution="uniform")
    return tf1.get_variable(name, shape, initializer=drawn)
