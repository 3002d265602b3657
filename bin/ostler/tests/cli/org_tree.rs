use serde_json::Value;

use crate::in_sample;

/// L01, L37-L45: the tree with its layers, and the matrix.
#[test]
fn l01_the_tree_and_the_matrix_are_printed() {
    insta::assert_snapshot!(in_sample(&["org", "tree"]), @r"
    platform    Ostler Platform  Quinn  system              business layer 1  enterprise, unlimited credits
    └ agency    Harbour Agency   Mara   pm                  business layer 2  agency, 2,000 credits a month
      └ client  Bella Pizza      Luca   pm                  business layer 3  pro, 200 credits a month
                                 Gia    customer_service    business layer 4
                                 Enzo   billing_specialist  business layer 3

    guardrail               1 Platform  2 Agency     3 Client           4 End-Customer
    create sub-orgs         yes         yes          no                 no
    deploy bots             yes         yes          no                 no
    manage org settings     yes         own org      own org            no
    access parent org data  n/a         n/a          no                 no
    access child org data   yes         query only   n/a                n/a
    evolve souls            yes         propose      propose            no
    run bulk operations     yes         yes          up to 100 records  no
    send external messages  yes         yes          yes                yes
    modify agents           yes         own org      own org            no
    export data             yes         yes          yes                no
    escalate up             n/a         to Platform  to Agency          to Client
    delegate down           to Agency   to Client    to End-Customer    n/a
    ");
}

#[test]
fn json_has_the_tree_and_the_matrix() {
    let report: Value = serde_json::from_str(&in_sample(&["org", "tree", "--json"])).expect("JSON");
    let bella = &report["orgs"][2];
    assert_eq!(bella["parent"], "harbour");
    let layers: Vec<u64> = bella["agents"]
        .as_array()
        .expect("a list of agents")
        .iter()
        .filter_map(|agent| agent["business_layer"].as_u64())
        .collect();
    assert_eq!(layers, [3, 4, 3]);
    assert_eq!(report["guardrails"].as_array().map(Vec::len), Some(12));
}
