"""Pictures of the network of handout 5.2: its layers with shapes, a residual block, and batch norm in both modes."""

from __future__ import annotations

from docs.examples.text import Language, chosen
from docs.pictures.drawing import Drawing


def network(language: Language) -> Drawing:
    """The layers, with shapes for any board and for 3x3."""
    title = chosen(language, "The policy-value network with its shapes", "策略价值网络及其形状")
    picture = Drawing(700, 520, title)
    block = chosen(language, "residual blocks", "残差块")
    trunk = (
        (30, ["states", "[N, 9, H, W]   3x3: [N, 9, 3, 3]"]),
        (112, ["conv2d_1", chosen(language, "pad 2, then 1x1, 9 -> 64", "填充 2，然后 1x1，9 -> 64")]),
        (194, [f"resnet: {block}", "[N, 64, H+4, W+4]   3x3: [N, 64, 7, 7]"]),
    )
    for y, lines in trunk:
        picture.box(200, y, 300, 54, lines, edge="accent" if y == 194 else "edge")
    for y in (84, 166):
        picture.line([(350, y), (350, y + 26)], colour="soft", arrow=True)
    for x in (180, 520):
        picture.line([(350, 248), (350, 262), (x, 262), (x, 280)], colour="soft", arrow=True)
    policy = (
        (282, ["conv2d_2, bn_1, relu", "1x1, 64 -> 2"]),
        (356, ["permute, flatten", "[N, 2A]   3x3: [N, 98]"]),
        (430, ["dense_layer_1, log softmax", "[N, W*H]   3x3: [N, 9]"]),
    )
    value = (
        (282, ["conv2d_3, bn_2, relu", "1x1, 64 -> 1"]),
        (356, ["flatten, dense_layer_2, relu", "[N, A] -> [N, 256]"]),
        (430, ["flatten_layer_3, tanh", "[N, 1]"]),
    )
    for x, boxes in ((40, policy), (380, value)):
        for y, lines in boxes:
            picture.box(x, y, 280, 52, lines, edge="good" if y == 430 else "edge")
        for y in (334, 408):
            picture.line([(x + 140, y), (x + 140, y + 20)], colour="soft", arrow=True)
    picture.text(180, 500, chosen(language, "policy: log p", "策略：log p"), style="bold", colour="good")
    picture.text(
        520, 500, chosen(language, "value: v, for the side to move", "价值：v，行棋方的视角"), style="bold", colour="good"
    )
    picture.text(680, 140, "A = (H+4) * (W+4)", size=12.5, anchor="end", colour="soft", style="mono")
    return picture


def residual_block(language: Language) -> Drawing:
    """One block: two convolutions and the way around them."""
    title = chosen(language, "A residual block", "一个残差块")
    picture = Drawing(820, 190, title)
    layers = ("conv 3x3", "batch norm", "relu", "conv 3x3", "batch norm")
    names = ("resnet.i.0", "resnet.i.1", "", "resnet.i.3", "resnet.i.4")
    picture.text(26, 120, "x", size=18, style="bold")
    picture.line([(40, 120), (64, 120)], colour="soft", arrow=True)
    for number, (layer, name) in enumerate(zip(layers, names, strict=True)):
        x = 66 + 120 * number
        picture.rect(x, 98, 96, 44)
        picture.text(x + 48, 120, layer, size=13)
        picture.text(x + 48, 158, name, size=12, colour="soft", style="mono")
        picture.line([(x + 96, 120), (x + 118, 120)], colour="soft", arrow=True)
    picture.circle(680, 120, 16, edge="accent")
    picture.text(680, 119, "+", size=20, style="bold", colour="accent")
    picture.line([(50, 120), (50, 46), (680, 46), (680, 102)], colour="accent", width=2, arrow=True)
    picture.text(
        365,
        28,
        chosen(language, "the input goes around and is added before the last relu", "输入绕过去，在最后一个 relu 之前加上"),
        size=13.5,
        colour="accent",
    )
    picture.line([(696, 120), (716, 120)], colour="soft", arrow=True)
    picture.rect(718, 98, 52, 44)
    picture.text(744, 120, "relu", size=13)
    picture.line([(770, 120), (800, 120)], colour="soft", arrow=True)
    return picture


def batch_norm(language: Language) -> Drawing:
    """Which mean and variance batch norm uses, and which it changes."""
    title = chosen(language, "Batch norm in train mode and in eval mode", "训练模式和评估模式下的批归一化")
    picture = Drawing(720, 300, title)
    columns = (
        (20, chosen(language, "train mode: train_step", "训练模式：train_step"), True),
        (380, chosen(language, "eval mode: policy_value", "评估模式：policy_value"), False),
    )
    for left, head, train in columns:
        picture.text(left + 160, 26, head, style="bold", size=15)
        picture.box(
            left,
            50,
            145,
            56,
            [chosen(language, "the batch", "这一批"), chosen(language, "mean, variance", "均值、方差")],
            edge="accent" if train else "edge",
        )
        picture.box(
            left + 175,
            50,
            145,
            56,
            [chosen(language, "running", "累计的"), "running_mean, _var"],
            edge="edge" if train else "accent",
        )
        used = left + (72 if train else 247)
        picture.line([(used, 106), (used, 140), (left + 160, 140), (left + 160, 158)], colour="accent", width=2.5, arrow=True)
        picture.rect(left, 160, 320, 48)
        picture.text(left + 160, 184, "(x - mean) / sqrt(var + eps) * g + b", size=12.5, style="mono")
        if train:
            picture.line([(left + 145, 78), (left + 173, 78)], colour="good", width=2, arrow=True)
            picture.text(left + 247, 122, "0.9 old + 0.1 new", size=12, colour="good", style="mono")
        notes = (
            (
                chosen(language, "A state's outputs depend on its neighbours", "一个状态的输出取决于同批的其他状态，"),
                chosen(language, "in the batch, and the running values move.", "累计值也在变化。"),
            )
            if train
            else (
                chosen(language, "A state's outputs depend on the state alone,", "一个状态的输出只取决于它自己，"),
                chosen(language, "and nothing changes.", "什么都不改变。"),
            )
        )
        for number, note in enumerate(notes):
            picture.text(left + 160, 240 + 20 * number, note, size=13, colour="soft")
    return picture
