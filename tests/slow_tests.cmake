# Read by ctest behind the lists of discovered tests: those that take longer than the others, above all under a
# sanitizer on a busy machine. Tests named "nightly: …" carry the label nightly.
foreach(test IN LISTS attention_tests_TESTS)
  if(test MATCHES "^attention: *nightly: ")
    set_tests_properties("${test}" PROPERTIES LABELS nightly TIMEOUT 3600)
  elseif(test MATCHES "^attention: *law: all pairs of batch, ")
    set_tests_properties("${test}" PROPERTIES TIMEOUT 900)
  endif()
endforeach()

# Minutes in one test under a sanitizer, all in what other tests run at a smaller size: the presets with sanitizers leave
# them out.
foreach(test IN LISTS cli_tests_TESTS planner_tests_TESTS transfer_tests_TESTS verify_tests_TESTS)
  if(test MATCHES "^cli: *golden: the commands of the README |^cli: *law: every shipped model, scaled down, " OR
     test MATCHES "^cli: *golden: the pictures of the documents " OR
     test MATCHES "^cli: *law: of all shipped models those run |^cli: *answers: verify" OR
     test MATCHES "^planner: *law: used, wasted and free bytes |^verify: *law: the same in bf16, fp16 and with fp8 " OR
     test MATCHES "^transfer: *law: copies write every live element |^verify: *regression: attention of unequal heads, " OR
     test MATCHES "^verify: *law: windows, latents, unequal heads and attention alone pass by the rules of 0" OR
     test MATCHES "^planner: *law: 10,000 random specs can be planned, |^planner: *law: at full size every view is " OR
     test MATCHES "^planner: *law: every arrangement keeps the laws, at the size of deployments" OR
     test MATCHES "^planner: *law: every plan of one allocation keeps the laws, in all six orders and on stages " OR
     test MATCHES "^planner: *law: the longest request is that of a plain search over all lengths" OR
     test MATCHES "^planner: *law: the block never grows with the pack|^planner: *law: random specs are refused for " OR
     test MATCHES "^verify: *law: every family (computes (through|by)|in every pack)|^verify: *law: the same with narrow " OR
     test MATCHES "^verify: *(law: a right engine stays|fault: every fault of) .*in every family" OR
     test MATCHES "^verify: *law: (a right engine stays .*in every format|a network runs through one allocation) " OR
     test MATCHES "^verify: *law: the same through pages, groups and places of states that no engine has" OR
     test MATCHES "^verify: *fault: what an engine gets wrong changes outputs in every strategy, through every " OR
     test MATCHES "^verify: *law: a right plan passes every check, for every pack, mode and cache dtype" OR
     test MATCHES "^verify: *fault: what is planted is found in no case |^verify: *fault: .* with a radix tree is " OR
     test MATCHES "^verify: *transfer full size: |^verify: *law: .* between random deployments")
    set_tests_properties("${test}" PROPERTIES LABELS minutes)
  endif()
endforeach()

# The longest begin first, so that none of them runs alone at the end.
foreach(test IN LISTS attention_tests_TESTS cli_tests_TESTS report_tests_TESTS transfer_tests_TESTS verify_tests_TESTS)
  if(test MATCHES "^attention: *law: all pairs of batch, |^transfer: *law: copies write every live element " OR
     test MATCHES "^cli: *golden: the commands of the README |^cli: *docs: questions.md |^cli: *law: every shipped " OR
     test MATCHES "^cli: *law: of all shipped models those run |^cli: *law: no question about a model without " OR
     test MATCHES "^verify: *law: a right plan passes |^verify: *fault: every fault of an engine |^verify: *transfer " OR
     test MATCHES "^verify: *law: every family |^verify: *law: a right engine stays |^verify: *law: a network runs ")
    set_tests_properties("${test}" PROPERTIES COST 100)
  endif()
endforeach()
