#include "search.h"

#include <algorithm>

namespace {

constexpr std::size_t TABLE_SIZE = std::size_t{1} << 20;
constexpr int ROOT_VCF_NODES = 20'000;
constexpr int LEAF_VCF_NODES = 300;
constexpr int THREAT_NODES_A_SECOND = 100'000;  // of the time of a move: about a tenth of it
// Quiet points looked at in a node, the fewer the nearer the leaves; at the root all are, lest the only saving one be left out.
constexpr int MOST_WIDTH = 24;
constexpr int LEAST_WIDTH = 8;
constexpr int WIDTH_A_PLY = 2;
// Quiet moves from these places in the order on are first looked at by a further ply less.
constexpr std::array<std::size_t, 3> LATE = {3, 6, 12};
constexpr int REFUTED = 500'000;  // taken off the score of a root move that loses to threats: below all others, but in order
constexpr std::size_t LINE_LENGTH = 12;
// The evaluation, fitted to the results of games as the patterns are.
constexpr int TEMPO = 100;
constexpr int FOUR_THREE_NOW = 200;
constexpr int FOUR_THREE_LATER = 240;
constexpr int DOUBLE_THREE_NOW = 280;
constexpr int DOUBLE_THREE_LATER = 45;

/// Scores of proven wins count from the root; the table keeps them counted from the node.
int to_table(int score, int ply) { return score > SURE_WIN ? score + ply : score < -SURE_WIN ? score - ply : score; }
int from_table(int score, int ply) { return score > SURE_WIN ? score - ply : score < -SURE_WIN ? score + ply : score; }

/// Plies by which the quiet move at a place in the order is first looked at less.
int reduction(std::size_t place) {
    return static_cast<int>(std::count_if(LATE.begin(), LATE.end(), [&](std::size_t late) { return place >= late; }));
}

}  // namespace

Limits Limits::of_time(double budget_s, int max_depth) {
    return {budget_s, max_depth, static_cast<int>(std::min(1e9, budget_s * THREAT_NODES_A_SECOND))};
}

Search::Search(Position &position, const Options &options)
    : options_(options), position_(position), threats_(position), table_(TABLE_SIZE) {}

Result Search::run(int side, const Limits &limits, const Observer &observer) {
    const Clock clock(limits.budget_s);
    clock_ = &clock;
    nodes_ = 0;
    earlier_ = threats_.nodes();
    max_nodes_ = limits.max_nodes;
    history_ = {};
    killers_ = {};
    answers_.clear();
    answer_nodes_ = limits.threat_nodes / 4;
    Result best;
    const auto account = [&] {
        best.nodes = searched();
        best.seconds = clock.elapsed_s();
    };
    const auto tell = [&] {
        account();
        if (observer) {
            observer(best);
        }
    };
    int win = options_.root_vcf ? threats_.winning_move(side, ROOT_VCF_NODES) : NO_CELL;
    if (win == NO_CELL && options_.root_vct) {
        win = threats_.winning_threat(side, limits.threat_nodes);
    }
    if (win != NO_CELL) {
        best.cell = win;
        best.score = SURE_WIN + 1;
        best.line = {win};
        tell();
        return best;
    }
    find_moves(side, NO_CELL, 0, CELLS, moves_[0]);
    root_cell_ = moves_[0].front().cell;
    const Position before = position_;
    try {
        for (int depth = 1; depth <= limits.max_depth; ++depth) {
            best.score = negamax(side, depth, -WIN, WIN, 0);
            best.depth = depth;
            best.line = principal_variation(side);
            tell();
            const bool only_move = moves_[0].size() == 1;
            if (std::abs(best.score) > SURE_WIN || only_move || !clock.allows_another()) {
                break;
            }
        }
    } catch (const Stopped &) {
        position_ = before;  // the stones of the line that was being looked at are still on the board
    }
    best.cell = root_cell_;  // of an unfinished iteration too: it looks first at the best move of the one before
    account();
    clock_ = nullptr;
    return best;
}

bool Search::is_over() const { return searched() >= max_nodes_ || clock_->is_over(); }

/// For the side to move: patterns on the whole board, the move being worth a part of one's own, and double threats that
/// stand ready, which count for more to the side that can play them now.
int Search::evaluate(int side) const {
    const int other = 1 - side;
    const int patterns = position_.values(side) - position_.values(other) + position_.values(side) / 6;
    const int ready = FOUR_THREE_NOW * (position_.count(side, FOUR_THREE) > 0) -
                      FOUR_THREE_LATER * (position_.count(other, FOUR_THREE) > 0) +
                      DOUBLE_THREE_NOW * (position_.count(side, DOUBLE_THREE) > 0) -
                      DOUBLE_THREE_LATER * (position_.count(other, DOUBLE_THREE) > 0);
    return patterns + ready + TEMPO;
}

int Search::negamax(int side, int depth, int alpha, int beta, int ply) {
    if ((++nodes_ & 255) == 0 && is_over()) {
        throw Stopped{};
    }
    const int other = 1 - side;
    if (position_.is_full()) {
        return 0;
    }
    const bool at_root = ply == 0;
    const int threatened = position_.count(other, MAKES_FIVE);
    if (!at_root) {
        if (position_.count(side, MAKES_FIVE) > 0) {
            return WIN - ply - 1;
        }
        if (options_.wins && threatened > 1) {
            return -(WIN - ply - 2);
        }
        if (options_.wins && threatened == 0 && position_.count(side, WIN_FOUR) > 0) {
            return WIN - ply - 3;
        }
        if (options_.distance) {  // no five is further away than the one just found elsewhere
            alpha = std::max(alpha, -(WIN - ply));
            beta = std::min(beta, WIN - ply - 1);
            if (alpha >= beta) {
                return alpha;
            }
        }
    }
    Entry &entry = table_[position_.hash(side) % TABLE_SIZE];
    const bool known = options_.table && entry.hash == position_.hash(side);
    if (known && !at_root && entry.depth >= depth) {
        const int score = from_table(entry.score, ply);
        if (entry.bound == EXACT || (entry.bound == LOWER && score >= beta) || (entry.bound == UPPER && score <= alpha)) {
            return score;
        }
    }
    // A forced answer costs no depth, and a position with a four in the air is no leaf.
    const bool in_danger = threatened > 0 || position_.count(other, WIN_FOUR) > 0;
    const bool is_leaf = depth <= 0 && (!in_danger || !options_.danger || depth <= -4);
    if (is_leaf || ply >= MAX_PLY) {
        const int value = evaluate(side);
        const bool is_good_enough = value >= beta && options_.lazy_vcf;
        if (options_.vcf && !is_good_enough && threatened == 0 && threats_.winning_move(side, LEAF_VCF_NODES) != NO_CELL) {
            return WIN - ply - 5;
        }
        return value;
    }
    std::vector<Move> &moves = moves_[ply];
    find_moves(side, known ? entry.cell : NO_CELL, ply, at_root ? CELLS : width_at(depth), moves);
    const int first_alpha = alpha;
    int best = -WIN;
    int best_cell = moves.empty() ? NO_CELL : moves.front().cell;
    for (std::size_t i = 0; i < moves.size(); ++i) {
        const int cell = moves[i].cell;
        const bool quiet = position_.point_class(side, cell) < MAKES_FOUR && !in_danger;
        int next = depth - (threatened == 1 && options_.extension ? 0 : 1);
        if (ply >= MAX_PLY - 8) {
            next = std::min(next, depth - 1);
        }
        // Late quiet moves are first looked at less deeply, and all but the first with a window that only asks whether they
        // are better; whatever surprises is searched again.
        const int less = options_.lmr && quiet && depth >= 3 ? reduction(i) : 0;
        const int narrow = options_.pvs && i > 0 ? alpha + 1 : beta;
        int score = alpha + 1;
        position_.put(cell, side);
        if (less > 0) {
            score = -negamax(other, next - less, -narrow, -alpha, ply + 1);
        }
        if (score > alpha) {
            score = -negamax(other, next, -narrow, -alpha, ply + 1);
        }
        if (score > alpha && score < beta && narrow < beta) {
            score = -negamax(other, next, -beta, -alpha, ply + 1);
        }
        if (at_root && options_.root_defence && score > alpha && score > -SURE_WIN && loses_to_threats(side, cell)) {
            score -= REFUTED;
        }
        position_.take(cell);
        if (score > best) {
            best = score;
            best_cell = cell;
        }
        if (best > alpha) {
            alpha = best;
            if (at_root) {
                root_cell_ = cell;
            }
        }
        if (alpha >= beta) {
            if (quiet) {
                remember(side, cell, depth, ply);
            }
            break;
        }
    }
    if (options_.table) {
        const Bound bound = best <= first_alpha ? UPPER : best >= beta ? LOWER : EXACT;
        const int kept_depth = std::max(depth, -1);
        entry = {position_.hash(side), to_table(best, ply), static_cast<std::int16_t>(best_cell),
                 static_cast<std::int8_t>(kept_depth), bound};
    }
    return best;
}

/// Whether the opponent wins by continuous threats against the move that has just been made at the root.
bool Search::loses_to_threats(int side, int cell) {
    const auto [answer, is_new] = answers_.try_emplace(cell, NO_CELL);
    if (is_new) {
        answer->second = threats_.winning_threat(1 - side, answer_nodes_);
        if (is_over()) {
            throw Stopped{};
        }
    }
    return answer->second != NO_CELL;
}

/// How many quiet moves a node below the root looks at.
int Search::width_at(int depth) const {
    if (!options_.width) {
        return CELLS;
    }
    return options_.narrow ? std::clamp(LEAST_WIDTH + WIDTH_A_PLY * depth, LEAST_WIDTH, MOST_WIDTH) : MOST_WIDTH;
}

/// A quiet move that was too good for the opponent to allow is likely to be so again.
void Search::remember(int side, int cell, int depth, int ply) {
    if (options_.history) {
        history_[side][cell] += depth * depth;
    }
    if (options_.killers && killers_[ply][0] != cell) {
        killers_[ply][1] = killers_[ply][0];
        killers_[ply][0] = cell;
    }
}

/// Moves worth looking at, best first: a five is made or stopped; an open four is stopped or answered by fours; else points
/// near the stones by what they are worth to either side.
void Search::find_moves(int side, int preferred, int ply, int width, std::vector<Move> &moves) const {
    moves.clear();
    const int other = 1 - side;
    for (const int colour : {side, other}) {
        if (options_.forced && position_.count(colour, MAKES_FIVE) > 0) {
            moves.push_back({position_.find(colour, MAKES_FIVE), 0});
            return;
        }
    }
    const bool must_stop = options_.forced && position_.count(side, WIN_FOUR) == 0 && position_.count(other, WIN_FOUR) > 0;
    for (const int cell : position_.points()) {
        if (!position_.is_empty(cell) || !position_.is_near(cell)) {
            continue;
        }
        const PointClass own = position_.point_class(side, cell);
        const PointClass theirs = position_.point_class(other, cell);
        if (must_stop && own < MAKES_FOUR && theirs < MAKES_FOUR) {
            continue;
        }
        int key = 2 * position_.value(side, cell) + position_.value(other, cell);
        key += 400 * own + 250 * theirs + std::min(history_[side][cell], 200);
        if (cell == preferred) {
            key += 1'000'000;
        } else if (cell == killers_[ply][0] || cell == killers_[ply][1]) {
            key += 150;
        }
        moves.push_back({cell, key});
    }
    std::sort(moves.begin(), moves.end(), [](const Move &a, const Move &b) { return a.key > b.key; });
    if (!must_stop && moves.size() > static_cast<std::size_t>(width)) {
        moves.resize(static_cast<std::size_t>(width));
    }
    if (moves.empty()) {  // nothing near: the board holds no stone, or only far ones are free
        for (const int cell : position_.points()) {
            if (position_.is_empty(cell)) {
                moves.push_back({cell, 0});
            }
        }
    }
}

/// The best move and, by the table, what follows it.
std::vector<int> Search::principal_variation(int side) {
    std::vector<int> line;
    int cell = root_cell_;
    while (cell != NO_CELL && position_.is_empty(cell) && line.size() < LINE_LENGTH) {
        line.push_back(cell);
        position_.put(cell, side);
        side = 1 - side;
        const Entry &entry = table_[position_.hash(side) % TABLE_SIZE];
        cell = entry.hash == position_.hash(side) ? entry.cell : NO_CELL;
    }
    for (auto placed = line.rbegin(); placed != line.rend(); ++placed) {
        position_.take(*placed);
    }
    return line;
}
