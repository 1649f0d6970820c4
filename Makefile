# Two commands do everything from a bare clone: `make grade` and `make test`. See README.md.

PYTHON ?= python3
CXX := g++
CXXFLAGS := -std=c++17 -O2 -pthread -Wall -Wextra -Wpedantic -Werror -I Minimax
VENV := .venv
RUN := $(VENV)/bin/python
# One more than there are cores, since many tests wait for programs; each needs about 1 GB of memory.
WORKERS := $(shell cores=$$(nproc); echo $$((cores < 4 ? cores + 1 : 5)))
ENGINES := build/engines
AXE := axe-core@4.14.1
REFERENCE := $(wildcard instructor/reference/Minimax/*.cpp)
CPP := Minimax Minimax/mcts_baselines games/nogo/players instructor/suite instructor/reference/Minimax instructor/teacher tests/arena tests/minimax
LAID_OUT := $(wildcard $(foreach folder,$(CPP),$(folder)/*.cpp $(folder)/*.h))
RUNGS := $(foreach n,50000 100000 200000 400000 600000 800000,$(n) $(n)_rand)

# The reference in a tree of its own, as a student's would be, with the pages of arena/ and all of training/, of which a
# student gets the least.
LAY_OUT = $(RUN) -m grader workspace instructor/reference build/reference && cp -r arena training build/reference/

.PHONY: grade test format trust suite engines stubs train play supervised export export_run matches alphago quantise selfplay fit clean tools

grade: $(VENV)/run.stamp engines
	$(RUN) -m grader grade instructor/reference --profile quick --out build/graded

test: $(VENV)/test.stamp engines
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/codespell
	$(VENV)/bin/clang-format --dry-run -Werror $(LAID_OUT)
	$(RUN) -m pytest -m 'not alone' -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0 --durations 40
	$(RUN) -m pytest -m alone $$(grep -rlF --include='*.py' mark.alone tests)

format: $(VENV)/test.stamp
	$(VENV)/bin/ruff check --fix-only .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/clang-format -i $(LAID_OUT)

# The grader itself: samples of instructor/submissions, and the grade that each must get.
trust: $(VENV)/run.stamp tools $(ENGINES)/baseline
	$(RUN) -m grader trust $(ARGS)

# Search every position of the suite again and compare the answers.
suite: $(VENV)/run.stamp build/suite/threats
	$(RUN) instructor/suite/verify.py

engines: tools $(ENGINES)/sample $(ENGINES)/baseline $(ENGINES)/reference $(RUNGS:%=$(ENGINES)/mcts_%) $(ENGINES)/nogo

stubs: $(VENV)/run.stamp
	$(RUN) -m grader stubs

train: $(VENV)/run.stamp
	$(LAY_OUT)
	cd build/reference && ../../$(RUN) train.py $(ARGS)

play: $(VENV)/run.stamp
	$(LAY_OUT)
	cd build/reference && ../../$(RUN) human_play.py $(ARGS)

# Supervised training on games of build/teacher, export of weights with a manifest, matches between networks and AlphaGo's
# stages (docs/training.md); self-play is below. The programs run in this folder, with the reference's network.
supervised export export_run matches alphago quantise: $(VENV)/run.stamp
	$(LAY_OUT)
	OMP_NUM_THREADS=1 PYTHONSAFEPATH=1 PYTHONPATH=build/reference $(RUN) -m training.$@ $(ARGS)

selfplay: $(VENV)/run.stamp
	$(LAY_OUT)
	OMP_NUM_THREADS=1 PYTHONSAFEPATH=1 PYTHONPATH=build/reference $(RUN) -m training.selfplay $(ARGS)

# What commands can rebuild. The results of a class stay: nothing brings them back.
clean:
	rm -rf build tmp results/trust

tools:
	@command -v $(CXX) >/dev/null || { echo "A C++ compiler is missing: install $(CXX) (Debian, Ubuntu: apt-get install g++)." >&2; exit 2; }

$(ENGINES)/%: Minimax/%.cpp Minimax/AIController.h
	@mkdir -p $(ENGINES)
	$(CXX) $(CXXFLAGS) $< -o $@

# mcts_50000, mcts_50000_rand ...: one search, compiled once, and a line that says which rung it is.
$(ENGINES)/mcts_%: Minimax/mcts_baselines/rung.cpp build/mcts.o
	$(CXX) $(CXXFLAGS) -DSIMULATIONS=$(*:_rand=) -DRANDOM_OPENING=$(if $(findstring _rand,$*),1,0) build/mcts.o $< -o $@

build/mcts.o: Minimax/mcts_baselines/mcts.cpp Minimax/mcts_baselines/position.h Minimax/AIController.h
	@mkdir -p $(ENGINES)
	$(CXX) $(CXXFLAGS) -c $< -o $@

# NoGo over GTP; --search, --simulations and --seed say which rung it is.
$(ENGINES)/nogo: games/nogo/players/player.cpp games/nogo/players/search.h games/nogo/players/position.h
	@mkdir -p $(ENGINES)
	$(CXX) $(CXXFLAGS) $< -o $@

build/suite/threats: instructor/suite/threats.cpp instructor/suite/fours.h
	@mkdir -p build/suite
	$(CXX) $(CXXFLAGS) $< -o $@

$(ENGINES)/reference: $(REFERENCE) $(wildcard instructor/reference/Minimax/*.h) Minimax/AIController.h
	@mkdir -p $(ENGINES)
	$(CXX) $(CXXFLAGS) $(REFERENCE) -o $@

# build/teacher/15, build/teacher/11: the reference on a board of that size, which plays itself for training/.
TAUGHT_BY := $(filter-out %/engine.cpp %/bench.cpp %/opening.cpp,$(REFERENCE))

build/teacher/%: instructor/teacher/teacher.cpp instructor/teacher/lessons.h $(TAUGHT_BY) $(wildcard instructor/reference/Minimax/*.h)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -DBOARD_SIZE=$* -I instructor/reference/Minimax $< $(TAUGHT_BY) -o $@

# UCT with RAVE, which plays itself on boards of any size.
build/teacher/nogo: instructor/teacher/nogo.cpp instructor/teacher/lessons.h games/nogo/players/search.h games/nogo/players/position.h
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -I games/nogo/players $< -o $@

# The milestones of Part 1, for bench/milestones.py.
build/milestones/step_%: instructor/teacher/milestones.cpp Minimax/AIController.h
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -DSTEP=$* $< -o $@

# What fit_patterns.py fits the evaluation to.
build/teacher/counts: instructor/teacher/counts.cpp $(TAUGHT_BY) $(wildcard instructor/reference/Minimax/*.h)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -I instructor/reference/Minimax $< $(TAUGHT_BY) -o $@

fit: $(VENV)/run.stamp build/teacher/counts
	$(RUN) instructor/teacher/fit_patterns.py build/teacher/counts $(ARGS)

# If a stamp is newer than its requirements, the environment matches them.
$(VENV)/run.stamp: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null || { echo "Python 3.11 to 3.14 is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1): install one of these (Debian, Ubuntu: apt-get install python3) or name it, make PYTHON=python3.12." >&2; exit 2; }
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "A virtual environment could not be made: install venv for this Python (Debian, Ubuntu: apt-get install python3-venv)." >&2; exit 2; }
	$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/test.stamp: $(VENV)/run.stamp requirements-test.txt requirements-instructor.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements-test.txt
	@! command -v npm >/dev/null || npm install --silent --no-save --no-audit --no-fund --prefix $(VENV)/node $(AXE) || echo "Without $(AXE), the audit of the pages is skipped." >&2
	@touch $@
