#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>
#include <vector>

enum Owner { EMPTY, ME, FOE };

static const int WIDTH = 15;
static const double PLAN_S = 0.5;
static const int WIN = 10000000;

static int field[WIDTH][WIDTH];
static int count = 0;
static int worth[6];  // of a row of five points with this many stones of one colour and none of the other

static void fill_tables() {
    worth[0] = 0;
    for (int n = 1; n < 5; n++) {
        worth[n] = n == 1 ? 1 : 12 * worth[n - 1];
    }
    worth[5] = WIN;
}

static void put(int x, int y, int who) {
    field[x][y] = who;
    count++;
}

static void take(int x, int y) {
    field[x][y] = EMPTY;
    count--;
}

static void swap_sides() {
    for (auto &line : field) {
        for (int &owner : line) {
            owner = owner == EMPTY ? EMPTY : ME + FOE - owner;
        }
    }
}

// What the rows through one point, or through all, are worth to `who` less what they are worth to the other.
static int rows_through(int x, int y, int dx, int dy, int who) {
    int own = 0;
    int other = 0;
    for (int k = 0; k < 5; k++) {
        const int a = x + k * dx;
        const int b = y + k * dy;
        if (a < 0 || b < 0 || a >= WIDTH || b >= WIDTH) {
            return 0;
        }
        own += field[a][b] == who;
        other += field[a][b] == ME + FOE - who;
    }
    return own > 0 && other > 0 ? 0 : worth[own] - worth[other];
}

static int evaluate(int who) {
    int sum = 0;
    for (int x = 0; x < WIDTH; x++) {
        for (int y = 0; y < WIDTH; y++) {
            sum += rows_through(x, y, 1, 0, who) + rows_through(x, y, 0, 1, who) + rows_through(x, y, 1, 1, who) +
                   rows_through(x, y, 1, -1, who);
        }
    }
    return sum;
}

static int local(int x, int y, int who) {
    int sum = 0;
    for (int k = 0; k < 5; k++) {
        sum += rows_through(x - k, y, 1, 0, who) + rows_through(x, y - k, 0, 1, who) + rows_through(x - k, y - k, 1, 1, who) +
               rows_through(x - k, y + k, 1, -1, who);
    }
    return sum;
}

struct Move {
    int gain, x, y;
    bool operator<(const Move &other) const { return gain > other.gain; }
};

static std::vector<Move> moves(int who, std::size_t most) {
    std::vector<Move> found;
    for (int x = 0; x < WIDTH; x++) {
        for (int y = 0; y < WIDTH; y++) {
            if (field[x][y] == EMPTY) {
                const int before = local(x, y, who);
                field[x][y] = who;
                const int attack = local(x, y, who) - before;
                field[x][y] = ME + FOE - who;
                const int defence = before - local(x, y, who);
                field[x][y] = EMPTY;
                found.push_back({attack + defence / 2, x, y});
            }
        }
    }
    std::sort(found.begin(), found.end());
    found.resize(std::min(found.size(), most));
    return found;
}

static std::chrono::system_clock::time_point deadline;

static bool late() { return std::chrono::system_clock::now() > deadline; }

static int negamax(int who, int depth, int alpha, int beta) {
    const int value = evaluate(who);
    if (depth == 0 || std::abs(value) > WIN / 2 || late()) {
        return value;
    }
    for (const Move &move : moves(who, 6)) {
        put(move.x, move.y, who);
        const int score = -negamax(ME + FOE - who, depth - 1, -beta, -alpha);
        take(move.x, move.y);
        alpha = std::max(alpha, score);
        if (alpha >= beta) {
            break;
        }
    }
    return alpha;
}

static std::pair<int, int> think() {
    const auto milliseconds = static_cast<long>(1000 * PLAN_S);
    deadline = std::chrono::system_clock::now() + std::chrono::milliseconds(milliseconds);
    std::vector<Move> root = moves(ME, 10);
    std::pair<int, int> best(root[0].x, root[0].y);
    for (int depth = 0; depth < 8 && !late(); depth++) {
        int alpha = -2 * WIN;
        Move top = root[0];
        for (const Move &move : root) {
            put(move.x, move.y, ME);
            const int score = -negamax(FOE, depth, -2 * WIN, -alpha);
            take(move.x, move.y);
            if (late()) {
                break;
            }
            if (score > alpha) {
                alpha = score;
                top = move;
            }
        }
        if (!late()) {
            best = {top.x, top.y};
        }
    }
    return best;
}
