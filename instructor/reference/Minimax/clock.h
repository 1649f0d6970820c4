// The time of one move. It is CPU time, as the referee counts it, so that the engine thinks as long on a busy machine as on an
// idle one.

#ifndef CLOCK_H
#define CLOCK_H

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>

class Clock {
   public:
    explicit Clock(double budget_s) : start_(now()), budget_s_(budget_s) {}

    /// CPU seconds of this process, or a share of the wall-clock seconds if that is more, so that no move takes forever.
    double elapsed_s() const {
        const Moment end = now();
        const double cpu_s = static_cast<double>(end.cpu - start_.cpu) / CLOCKS_PER_SEC;
        const double wall_s = std::chrono::duration<double>(end.wall - start_.wall).count();
        return std::max(cpu_s, wall_s / wall_patience());
    }
    bool is_over() const { return elapsed_s() >= budget_s_; }

   private:
    struct Moment {
        std::clock_t cpu;
        std::chrono::steady_clock::time_point wall;
    };

    static Moment now() { return {std::clock(), std::chrono::steady_clock::now()}; }

    /// Wall-clock seconds that count as one second: 10, as if nine other programs ran on this core; but 1 if the referee says
    /// that it counts wall-clock time.
    static double wall_patience() {
        static const char *const counted = std::getenv("GOMOKU_CLOCK");
        static const double patience = counted != nullptr && std::strcmp(counted, "wall") == 0 ? 1.0 : 10.0;
        return patience;
    }

    Moment start_;
    double budget_s_;
};

#endif
