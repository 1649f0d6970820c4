#include "search.h"

#include <algorithm>

namespace {

constexpr int ROOT_VCF_NODES = 20'000;
constexpr int LEAF_VCF_NODES = 300;
constexpr int THREAT_NODES_PER_SECOND = 100'000;  // of a move's time: the threat search takes about a tenth of it
constexpr std::uint64_t NODES_BETWEEN_CHECKS = 256;
constexpr int REFUTED = 500'000;  // subtracted for root moves that lose to threats: they come last but keep their order
constexpr std::size_t LINE_LENGTH = 12;

}  // namespace

Limits Limits::of_time(double budget_s) {
    return {budget_s, MAX_PLY, static_cast<int>(std::min(1e9, budget_s * THREAT_NODES_PER_SECOND))};
}

Limits Limits::of_nodes(std::uint64_t nodes) {
    const auto threat_nodes = std::min(nodes / 10, std::uint64_t{1'000'000'000});
    return {std::numeric_limits<double>::infinity(), MAX_PLY, static_cast<int>(threat_nodes), nodes};
}

Limits Limits::part(int searches, int depth) const {
    return {budget_s / searches, depth, threat_nodes / searches, max_nodes / static_cast<std::uint64_t>(searches)};
}

Search::Search(Position &position, const Options &options)
    : options_(options),
      selectivity_(options),
      position_(position),
      threats_(position),
      table_(options.table),
      ordering_(position, options) {}

// ----------------------------------------------------------------------------------------------- from the root downwards

Result Search::run(int side, const Limits &limits, const Observer &observer) {
    prepare(limits);
    Result result;
    result.cell = find_threat_win(side, limits.threat_nodes);
    if (result.cell != NO_CELL) {
        result.score = SURE_WIN + 1;
        result.line = {result.cell};
        report(result, observer);
        return result;
    }
    deepen(side, limits.max_depth, result, observer);
    // An unfinished iteration counts too, since it begins with the best move of the one before, with or without the table.
    result.cell = root_cell_;
    const bool is_new = result.line.empty() || result.line.front() != root_cell_;
    if (is_new) {
        result.line = principal_variation(side);  // its score is still that of the last finished iteration
    }
    report(result, is_new ? observer : nullptr);
    return result;
}

void Search::prepare(const Limits &limits) {
    clock_.emplace(limits.budget_s);
    threats_.obey(*clock_);
    nodes_ = 0;
    earlier_threat_nodes_ = threats_.nodes();
    max_nodes_ = limits.max_nodes;
    next_check_ = 0;
    root_refutations_.clear();
    refutation_nodes_ = limits.threat_nodes / 4;
    ordering_.forget();
}

/// Iterative deepening (Slate and Atkin 1977): each iteration orders the moves of the next, so that a deep search costs little
/// more than its last iteration, and a move is at hand whenever time runs out.
void Search::deepen(int side, int max_depth, Result &result, const Observer &observer) {
    ordering_.find_moves(side, best_known(side), 0, CELLS, moves_[0]);
    root_cell_ = moves_[0].front().cell;
    const Position before = position_;
    try {
        for (int depth = 1; depth <= max_depth; ++depth) {
            result.score = negamax({side, depth, -WIN, WIN, 0});
            result.depth = depth;
            result.line = principal_variation(side);
            report(result, observer);
            const bool only_move = moves_[0].size() == 1;
            if (std::abs(result.score) > SURE_WIN || only_move) {
                break;
            }
        }
    } catch (const Stopped &) {
        position_ = before;  // the stones of the line under search are still on the board
    }
}

/// Negamax with alpha-beta (Knuth and Moore 1975): the score of the position for `node.side`, exact if it lies strictly between
/// alpha and beta; a score of alpha or less is an upper bound, one of beta or more a lower bound.
///
/// The position is the same afterwards as before, except if Stopped is thrown.
int Search::negamax(Node node) {
    count_node();
    if (const std::optional<int> score = cut_off(node)) {
        return *score;
    }
    const bool in_danger = is_in_danger(node.side);
    if (selectivity_.is_leaf(node.depth, node.ply, in_danger)) {
        return leaf_value(node);
    }
    if (!in_danger && node.is_scout()) {
        if (const std::optional<int> score = pruned(node)) {
            return *score;
        }
    }
    return search_moves(node);
}

/// Cut-off: a score that needs no search, if there is one. If not, the window is left without the scores that have become
/// impossible, since no side can win sooner than with its next stone (mate distance pruning).
///
/// The root has to name a move, so only a full board decides it.
std::optional<int> Search::cut_off(Node &node) const {
    if (position_.is_full()) {
        return 0;
    }
    if (node.is_root()) {
        return std::nullopt;
    }
    if (const std::optional<int> score = decided_by_fours(node)) {
        return score;
    }
    if (selectivity_.prunes_by_distance()) {
        node.alpha = std::max(node.alpha, -(WIN - node.ply));
        node.beta = std::min(node.beta, WIN - node.ply - 1);
        if (node.alpha >= node.beta) {
            return node.alpha;
        }
    }
    const Entry *entry = table_.find(position_.hash(node.side));
    if (entry != nullptr && entry->decides(node.depth, node.alpha, node.beta, node.ply)) {
        return entry->score_at(node.ply);
    }
    return std::nullopt;
}

/// Pruning near the leaves (Heinz 1998): a score by the evaluation, or by a VCF, where that is far outside the window.
std::optional<int> Search::pruned(const Node &node) {
    const int value = evaluate(position_, node.side);
    if (selectivity_.is_far_above(value, node.beta, node.depth)) {
        return value;
    }
    if (selectivity_.is_far_below(value, node.alpha, node.depth)) {
        return leaf_value(node);
    }
    return std::nullopt;
}

/// Leaf value: a win if the side to move has a victory by continuous fours, else the evaluation.
///
/// That victory is not searched for while the opponent threatens a five, which must be stopped first.
int Search::leaf_value(const Node &node) {
    const int value = evaluate(position_, node.side);
    const bool may_attack = position_.count(1 - node.side, MAKES_FIVE) == 0;
    if (may_attack && selectivity_.wants_vcf(value, node.beta) && threats_.find_vcf(node.side, LEAF_VCF_NODES) != NO_CELL) {
        return WIN - node.ply - 5;
    }
    return value;
}

/// Move loop: the largest score of the node's moves, until one reaches beta.
///
/// Invariant: `best` is the largest score so far, and alpha the larger of it and the alpha of the call; every stone put down is
/// taken back. What was found is stored in the table as a bound or an exact score.
int Search::search_moves(Node node) {
    const int known = best_known(node.side);
    const bool in_danger = is_in_danger(node.side);
    const int first_alpha = node.alpha;
    node.depth = selectivity_.depth_of(node.depth, node.ply, known != NO_CELL);
    const bool skips =
        !in_danger && node.is_scout() && selectivity_.skips_quiet_moves(evaluate(position_, node.side), node.alpha, node.depth);
    std::vector<Move> &moves = moves_[node.ply];
    const int preferred = node.is_root() ? root_cell_ : known;
    ordering_.find_moves(node.side, preferred, node.ply, selectivity_.width(node.depth, node.ply), moves);
    int best = -WIN;
    int best_cell = moves.front().cell;
    for (std::size_t place = 0; place < moves.size(); ++place) {
        const int cell = moves[place].cell;
        if (skips && best > -SURE_WIN && is_calm(node.side, cell)) {
            continue;
        }
        const bool is_quiet = !in_danger && position_.point_class(node.side, cell) < MAKES_FOUR;
        const int score = search_move(node, place, is_quiet);
        if (score > best) {
            best = score;
            best_cell = cell;
        }
        if (score > node.alpha) {
            node.alpha = score;
            if (node.is_root()) {
                root_cell_ = cell;
            }
        }
        if (node.alpha >= node.beta) {
            if (is_quiet) {
                ordering_.remember(node.side, cell, node.depth, node.ply);
            }
            break;
        }
    }
    const Bound bound = best <= first_alpha ? UPPER : best >= node.beta ? LOWER : EXACT;
    table_.store({position_.hash(node.side), best, static_cast<std::int16_t>(best_cell),
                  static_cast<std::int8_t>(std::max(node.depth, -1)), bound},
                 node.ply);
    return best;
}

/// Principal variation search (Marsland and Campbell 1982): the score of the move at this place in the order.
///
/// The first move is expected to be the best and gets the whole window. The others only have to show that they are no better:
/// an empty window suffices, and for late quiet moves a reduced depth too. A move that surprises is searched again, first to
/// the full depth, then with the full window.
int Search::search_move(const Node &node, std::size_t place, bool is_quiet) {
    const int cell = moves_[node.ply][place].cell;
    const bool is_only_move = position_.count(1 - node.side, MAKES_FIVE) == 1;
    const int depth = selectivity_.depth_after(node.depth, node.ply, is_only_move);
    const int reduction = is_quiet ? selectivity_.reduction(node.depth, place) : 0;
    const int scout_beta = selectivity_.scout_beta(place, node.alpha, node.beta);
    position_.put(cell, node.side);
    int score = node.alpha + 1;
    if (reduction > 0) {
        score = -negamax(node.child(depth - reduction, scout_beta));
    }
    if (score > node.alpha) {
        score = -negamax(node.child(depth, scout_beta));
    }
    if (score > node.alpha && score < node.beta && scout_beta < node.beta) {
        score = -negamax(node.child(depth, node.beta));
    }
    if (node.is_root() && score > node.alpha && score > -SURE_WIN && loses_to_threats(node.side, cell)) {
        score -= REFUTED;
    }
    position_.take(cell);
    return score;
}

// -------------------------------------------------------------------------------------------- what the algorithm asks for

/// The score of a five that cannot be prevented, or nothing: `node.side` can make one; or has two to stop; or can make an open
/// four or a double four while there is none to stop.
std::optional<int> Search::decided_by_fours(const Node &node) const {
    if (position_.count(node.side, MAKES_FIVE) > 0) {
        return WIN - node.ply - 1;
    }
    if (!selectivity_.scores_fours()) {
        return std::nullopt;
    }
    const int to_stop = position_.count(1 - node.side, MAKES_FIVE);
    if (to_stop > 1) {
        return -(WIN - node.ply - 2);
    }
    if (to_stop == 0 && position_.count(node.side, WIN_FOUR) > 0) {
        return WIN - node.ply - 3;
    }
    return std::nullopt;
}

/// Whether the opponent of `side`, who is to move, threatens a five or an open four.
bool Search::is_in_danger(int side) const {
    const int other = 1 - side;
    return position_.count(other, MAKES_FIVE) > 0 || position_.count(other, WIN_FOUR) > 0;
}

/// Whether a stone of `side` on this point makes no three, and stops no four.
bool Search::is_calm(int side, int cell) const {
    return position_.point_class(side, cell) == QUIET && position_.point_class(1 - side, cell) < MAKES_FOUR;
}

/// The first move of a win by threats, looked for before the search; or NO_CELL.
int Search::find_threat_win(int side, int threat_nodes) {
    int cell = options_.root_vcf ? threats_.find_vcf(side, ROOT_VCF_NODES) : NO_CELL;
    if (cell == NO_CELL && options_.root_vct) {
        cell = threats_.find_vct(side, threat_nodes);
    }
    return cell;
}

/// Whether the opponent has a victory by continuous threats against the root move that is on the board. Searched for once for
/// each move.
bool Search::loses_to_threats(int side, int cell) {
    if (!options_.root_defence) {
        return false;
    }
    const auto [refuted, is_new] = root_refutations_.try_emplace(cell, false);
    if (is_new) {
        refuted->second = threats_.find_vct(1 - side, refutation_nodes_) != NO_CELL;
        if (is_over()) {
            throw Stopped{};
        }
    }
    return refuted->second;
}

void Search::count_node() {
    ++nodes_;
    if (searched() >= next_check_) {
        next_check_ = searched() + NODES_BETWEEN_CHECKS;
        if (is_over()) {
            throw Stopped{};
        }
    }
}

/// The best move of an earlier search of this position, if the table remembers it; or NO_CELL.
int Search::best_known(int side) const {
    const Entry *entry = table_.find(position_.hash(side));
    return entry != nullptr ? entry->best_cell : NO_CELL;
}

/// Enter nodes and time into the result, and show it to the observer if there is one.
void Search::report(Result &result, const Observer &observer) const {
    result.nodes = searched();
    result.seconds = clock_->elapsed_s();
    if (observer) {
        observer(result);
    }
}

/// The best move and the moves that the table expects after it.
std::vector<int> Search::principal_variation(int side) {
    std::vector<int> line;
    int cell = root_cell_;
    while (cell != NO_CELL && position_.is_empty(cell) && line.size() < LINE_LENGTH) {
        line.push_back(cell);
        position_.put(cell, side);
        side = 1 - side;
        cell = best_known(side);
    }
    for (auto placed = line.rbegin(); placed != line.rend(); ++placed) {
        position_.take(*placed);
    }
    return line;
}
