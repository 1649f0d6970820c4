"""The policy-value network in TensorFlow, with exactly the variables of the checkpoints from earlier years.

It computes the same function as AlphaZero/policy_value_net_torch.py (Silver et al. 2017). States are float32 [N, 9, H, W] as
Board.current_state returns them (row 0 is the top row). Moves are numbered h * width + w from the bottom row. Values are for
the side to move. The network is a graph of tf.compat.v1 variables, because only these keep the names
`model/<layer>/<param>` in a checkpoint. It needs TensorFlow 2 and runs on a CPU or a GPU.

This folder is not a package, so that `import tensorflow` finds the library. To use this module, put the folder on sys.path,
then `from policy_value_net_tensorflow import PolicyValueNet`.
"""

import os

import numpy as np

import tensorflow as tf

if getattr(tf, "__file__", None) is None:  # Python has taken this folder for the package, because it found no other
    raise ModuleNotFoundError("TensorFlow is not installed: python -m pip install -r requirements-convert.txt")

tf1 = tf.compat.v1

CHANNELS = 64
DENSE = 256
L2_CONST = 1e-4
BN_EPSILON = 1e-5
BN_MOMENTUM = 0.1  # the weight of a batch in the moving statistics, as torch defines it


class PolicyValueNet:
    """The network with its optimiser and session.

    Args:
        board_width, board_height: the number of columns and rows of the board.
        block: the number of residual blocks (published: 1 for 3x3, 19 for 11x11 and 15x15).
        init_model: a checkpoint to start from (its path without `.index`); every variable must fit.
        transfer_model: a checkpoint for another board size; only the variables that fit are used.
        cuda: whether to compute on a GPU.

    Attributes:
        planes_num, nb_block: the number of feature planes (9) and of residual blocks.
        graph, session: the TensorFlow graph and session of the network.
        action_fc_train, evaluation_fc2_train: the tensors log_probs [N, W*H] and value [N, 1], with batch norm in train mode
            (statistics of the batch).
        action_fc_test, evaluation_fc2_test: the same tensors with batch norm in eval mode (moving statistics), as the search
            needs them.
    """

    def __init__(self, board_width, board_height, block, init_model=None, transfer_model=None, cuda=False):
        if cuda and not tf.config.list_physical_devices("GPU"):
            raise ValueError("expected a GPU for cuda=True, but TensorFlow finds none; use cuda=False")
        self.board_width = board_width
        self.board_height = board_height
        self.planes_num = 9
        self.nb_block = block
        self.graph = tf.Graph()
        self.session = tf1.Session(graph=self.graph, config=tf1.ConfigProto(device_count={} if cuda else {"GPU": 0}))
        self._statistics = []  # the operations that update the moving means and variances
        self._train_op = None  # built by the first train_step: gradients take seconds to build, and search does not need them
        with self.graph.as_default():
            self._states = tf1.placeholder(tf.float32, [None, self.planes_num, board_height, board_width], name="states")
            self.action_fc_test, self.evaluation_fc2_test = self._network(train_mode=False)
            self.action_fc_train, self.evaluation_fc2_train = self._network(train_mode=True)
            self._weights = tf1.global_variables()  # these include the moving statistics
            self._saver = tf1.train.Saver(self._weights, max_to_keep=None)
            self.session.run(tf1.global_variables_initializer())
        if init_model:
            self.restore_model(init_model)
        elif transfer_model:
            self._transfer(transfer_model)

    # ------------------------------------------------------------------------------------------------- the layers

    def _network(self, train_mode):
        """Build the tensors (log_probs [N, W*H], value [N, 1]) for the placeholder; both modes share their variables."""
        with tf1.variable_scope("model", reuse=tf1.AUTO_REUSE):
            x = tf.transpose(self._states, [0, 2, 3, 1])  # to NHWC, because the heads are flattened in that order
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
        """Apply a convolution that keeps height and width, [N, H, W, in] -> [N, H, W, filters]."""
        with tf1.variable_scope(name):
            kernel = _matrix("kernel", [size, size, x.shape[3], filters])
            bias = tf1.get_variable("bias", [filters], initializer=tf1.zeros_initializer())
            return tf.nn.conv2d(x, kernel, strides=1, padding="SAME") + bias

    def _dense(self, x, name, units):
        """Apply a dense layer to x, flattened in the order row, column, channel."""
        size = int(np.prod(x.shape[1:]))
        with tf1.variable_scope(name):
            weight = _matrix("W", [size, units])
            bias = tf1.get_variable("b", [units], initializer=tf1.zeros_initializer())
            return tf.reshape(x, [-1, size]) @ weight + bias

    def _batch_norm(self, x, name, train_mode):
        # This does not use tf1.nn.fused_batch_norm, because that silently raises an epsilon of 1e-5 to 1.001e-5.
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
        """Build the loss, the entropy and the training step; checkpoints then include Adam's variables and its beta powers."""
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
        """Evaluate a batch of states with both heads.

        Args:
            state_batch: [N, 9, H, W], an array or a list of states.
            actin_fc, evaluation_fc: the tensors to compute; see the class.

        Returns:
            (probs [N, W*H], value [N, 1]) as numpy arrays; probabilities, not log probabilities.
        """
        states = np.asarray(state_batch, dtype=np.float32)
        log_probs, value = self.session.run([actin_fc, evaluation_fc], {self._states: states})
        return np.exp(log_probs), value

    def policy_value_fn(self, board, actin_fc, evaluation_fc):
        """Evaluate one position.

        Returns:
            (iterable of (legal move, probability), value): value is a (1, 1) array, for the side to move.
        """
        legal_moves = board.availables
        probs, value = self.policy_value(board.current_state()[np.newaxis], actin_fc, evaluation_fc)
        return zip(legal_moves, probs[0][legal_moves], strict=True), value

    def policy_value_fn_random(self, board, actin_fc, evaluation_fc):
        """Evaluate like policy_value_fn, but through a random symmetry of the board, which is undone on the moves."""
        from Board.symmetries import Symmetries

        symmetries = Symmetries(board.width, board.height)
        half = symmetries.count // 2  # the mirror images follow the rotations
        which = np.array([np.random.randint(half) + half * np.random.randint(2)])
        states = symmetries.turn_states(board.current_state()[np.newaxis], which)
        probs, value = self.policy_value(states, actin_fc, evaluation_fc)
        probs = symmetries.turn_policies_back(probs, which)[0]
        legal_moves = board.availables
        return zip(legal_moves, probs[legal_moves], strict=True), value

    def train_step(self, state_batch, mcts_probs, winner_batch, lr):
        """Take one step of Adam on

            mean (z - v)^2  -  mean sum_a pi(a) log p(a)  +  1e-4 / 2 * ||w||^2

        where w are all parameters that are not biases, including the scales of batch norm. Batch norm is in train mode.

        Args:
            state_batch: [N, 9, H, W], an array or a list.
            mcts_probs: pi, [N, W*H], an array or a list.
            winner_batch: z in {1, 0, -1}, [N], for the side to move.
            lr: the learning rate of this step.

        Returns:
            (loss, entropy): floats; the entropy, in nats, of the policy that the loss was computed from (before the step).
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
        """Write `path`.index and `path`.data-00000-of-00001; create the folder if it is missing.

        After the first train_step, Adam's averages are written together with the weights.
        """
        path = os.path.abspath(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with self.graph.as_default():
            self._saver.save(self.session, path, write_meta_graph=False, write_state=False)

    def restore_model(self, path):
        """Load the weights of a checkpoint in which every variable fits; as with torch, the optimiser does not change.

        Raises:
            FileNotFoundError: there is no such checkpoint.
            RuntimeError: a variable is missing or has another shape; the message names it.
        """
        fitting = self._fitting(path)
        wrong = [variable.op.name for variable in self._weights if variable.op.name not in fitting]
        if wrong:
            raise RuntimeError(f"expected the variables of this network in {path}; missing or misshaped: {', '.join(wrong)}")
        self._restore(fitting, path)

    def print_params(self):
        """Print the name and shape of each trainable variable, and the total number of parameters."""
        total = 0
        with self.graph.as_default():
            for variable in tf1.trainable_variables():
                print(f"{variable.op.name:40} {variable.shape.as_list()}")
                total += variable.shape.num_elements()
        print(f"{total} parameters")

    def _fitting(self, path):
        """Return a dict name -> variable of this network, for the variables that a checkpoint holds with the same shape."""
        if not os.path.isfile(f"{path}.index"):
            raise FileNotFoundError(f"expected a checkpoint at {path}; there is no {path}.index")
        shapes = tf.train.load_checkpoint(os.path.abspath(path)).get_variable_to_shape_map()
        return {v.op.name: v for v in self._weights if shapes.get(v.op.name) == v.shape.as_list()}

    def _restore(self, variables, path):
        with self.graph.as_default():
            tf1.train.Saver(variables).restore(self.session, os.path.abspath(path))

    def _transfer(self, path):
        """Load the variables of another network whose names and shapes match."""
        self._restore(self._fitting(path), path)


def _matrix(name, shape):
    """Create a kernel or weight matrix, initialised as in torch: uniform within +-1 / sqrt(fan in)."""
    drawn = tf1.variance_scaling_initializer(scale=1 / 3, mode="fan_in", distribution="uniform")
    return tf1.get_variable(name, shape, initializer=drawn)
