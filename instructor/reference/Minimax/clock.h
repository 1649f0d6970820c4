// Time of one move, on a clock that nobody sets.

#ifndef CLOCK_H
#define CLOCK_H

#include <chrono>

class Clock {
   public:
    explicit Clock(double budget_s) : start_(now()), budget_s_(budget_s) {}

    double elapsed_s() const { return std::chrono::duration<double>(now() - start_).count(); }
    bool is_over() const { return elapsed_s() >= budget_s_; }
    /// Whether a further, deeper iteration could still end in time: it takes several times as long as all before it.
    bool allows_another() const { return elapsed_s() < 0.4 * budget_s_; }

   private:
    static std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

    std::chrono::steady_clock::time_point start_;
    double budget_s_;
};

#endif
