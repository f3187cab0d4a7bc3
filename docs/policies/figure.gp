# Hits against memory, a line for each policy with its 95 % intervals: results.csv of compare.py becomes figure.pdf.
set datafile separator ","
set datafile missing NaN
set terminal pdfcairo size 8cm,6cm font ",9"
set output "figure.pdf"
set xlabel "memory, GiB"
set ylabel "found, % of prompt tokens"
set logscale x 2
set offsets graph 0.05, graph 0.05, 0, 0
set key bottom right samplen 2
set style data yerrorlines
policies = "lru worth TimeToLive MessageEnds Learnt"
plot for [policy in policies] "results.csv" using (strcol(1) eq policy ? column(2) : NaN):4:5 \
  pointsize 0.5 title policy
