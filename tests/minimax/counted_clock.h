// In place of the reference engine's clock, by `-include`: time is over once more than `most` clocks have been started.

#ifndef CLOCK_H
#define CLOCK_H

class Clock {
   public:
    explicit Clock(double) { ++started; }
    double elapsed_s() const { return 0.0; }
    bool is_over() const { return started > most; }

    static inline int started = 0;
    static inline int most = 0;
};

#endif
