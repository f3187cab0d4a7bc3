# Includes run one way: a file of a folder includes only from the folders its list names.
# Run as: cmake -D SOURCE_DIR=… -P include_direction.cmake
cmake_minimum_required(VERSION 3.25)

set(base base)
set(audit base audit)
set(layout base layout)
set(mamba ${layout} mamba)
set(attention ${layout} attention)
set(planner ${layout} mamba attention planner)
set(transfer ${planner} transfer)
set(clock ${planner} clock)
set(simulator ${clock} audit simulator)
set(verify ${simulator} transfer verify)
set(measure ${planner} measure)
set(engines ${simulator} engines)
set(scenarios ${engines} scenarios)
set(search ${scenarios} search)
set(ask ${search} transfer verify measure ask)
set(report ${ask} report)
set(python ${report} python)
set(web ${report} web)
set(cli ${report} cli)
set(fuzz ${cli} fuzz)

# `report` computes nothing: of the rooms that do it includes values, and what is read off them. Answers come from `ask`.
set(report_values planner/allocated_tensors.h planner/evidence.h planner/tensor_pools.h planner/pool_groups.h planner/arrangement.h planner/cache_orders.h planner/cache_plan.h
  planner/engine_spec.h planner/group_runs.h planner/model_parameters.h planner/plan_facts.h planner/primary_attention.h planner/engine_rules.h
  planner/shared_layers.h
  planner/snapshot_prefix.h planner/uniform_pages.h simulator/schedule/simulation_stats.h scenarios/sweep_axes.h
  transfer/copy_list.h)
# Questions that headers of `ask` bring along with their answers, asked by nobody in `report`.
set(questions make_plan make_plans plan_scenario plan_pack findings_of compare_packs capacity_at request_demand bytes_of
  bind_views choose_order possible_orders layers_in_allocation geometry_of run_sweep open_trace checkpoint_positions longest_request verify_plan verify_plans verify_scenario
  served_clock calibrate score_clocks fit_clocks verify_forward compare_backends forward simulate recommend recommend_scenario bench_attention plot_inputs plot_values page_strips
  request_bytes concurrency_curves prefix_stairs hit_rates blocks_in_use engine_requests engine_rates bounds list_models listed doctor
  read_startup_log check_settings possible_settings boot
  memory_budget find_gpu audit_cache audit_recording)
list(JOIN questions "|" question)

set(wrong "")
set(rooms base audit layout mamba attention planner transfer clock simulator verify measure engines scenarios search ask report python web cli)
foreach(folder ${rooms} fuzz)
  file(GLOB_RECURSE files "${SOURCE_DIR}/${folder}/*.h" "${SOURCE_DIR}/${folder}/*.cc")
  foreach(file IN LISTS files)
    file(STRINGS "${file}" includes REGEX "^#include \"")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE "^#include \"([a-z_]+)/.*$" "\\1" from "${include}")
      if(NOT from IN_LIST ${folder})
        list(APPEND wrong "${file}: ${include}")
      endif()
      string(REGEX REPLACE "^#include \"(.*)\"$" "\\1" header "${include}")
      if(folder STREQUAL "report" AND NOT from MATCHES "^(base|layout|ask|report)$" AND NOT header IN_LIST report_values)
        list(APPEND wrong "${file}: ${include}: `report` takes answers from `ask`")
      endif()
    endforeach()
    if(folder STREQUAL "report")
      file(STRINGS "${file}" asked REGEX "(^|[^A-Za-z_:.>\"])(${question})\\(")
      foreach(line IN LISTS asked)
        list(APPEND wrong "${file}: ${line}: `report` computes nothing")
      endforeach()
    endif()
  endforeach()
endforeach()
if(wrong)
  list(JOIN wrong "\n  " text)
  message(FATAL_ERROR "includes against the direction of the house:\n  ${text}")
endif()

# The table of the README has them all, in this order.
file(STRINGS "${SOURCE_DIR}/README.md" rows REGEX "^\\| `[a-z]+/` \\|")
list(TRANSFORM rows REPLACE "^\\| `([a-z]+)/`.*$" "\\1")
if(NOT rows STREQUAL "${rooms};tests;fuzz")
  message(FATAL_ERROR "README.md, The house: its rooms are ${rows}, but should be ${rooms};tests;fuzz")
endif()
