use ostler_domain::business_data::DataKind::{
    self, Contacts, Events, Forms, Media, Orders, Products,
};
use proptest::prelude::{Strategy as _, prop_assert_eq, proptest};
use serde_json::{Value, json};

use super::FileFormat::{Csv, Json, VCard};
use super::{FileFormat, ImportError, ImportOptions, ParsedFile, RefusedRow, read};
use crate::records::{CalendarEvent, Entity, Form, MediaItem, Order, Product};

fn parse(kind: DataKind, format: FileFormat, text: &str) -> Result<ParsedFile, ImportError> {
    let time_zone = "Europe/Rome".to_owned();
    read(text, format, &ImportOptions { kind, key_field: None, time_zone })
}

fn rows(kind: DataKind, format: FileFormat, text: &str) -> Vec<(u64, String, Value)> {
    let file = parse(kind, format, text).expect("a file");
    assert_eq!(file.refused, [], "{text}");
    file.rows.into_iter().map(|row| (row.number, row.key, row.fields.into())).collect()
}

#[test]
fn the_kinds_have_the_names_of_their_records() {
    let kinds = [
        (Products, Product::KIND),
        (Events, CalendarEvent::KIND),
        (Forms, Form::KIND),
        (Orders, Order::KIND),
        (Media, MediaItem::KIND),
    ];
    for (kind, name) in kinds {
        assert_eq!(kind.singular(), name);
    }
}

#[test]
fn o16_rows_become_the_records_that_tools_read() {
    let price = json!({"amount": "12.50", "currency": "EUR"});
    let csv = "SKU;Name;Price;Currency;Tags;Active\nB-1;Bell;12.5;eur;loud, Small;yes\n";
    let bell = json!({"sku": "B-1", "name": "Bell", "price": price, "tags": ["loud", "small"],
        "active": true});
    assert_eq!(rows(Products, Csv, csv), [(2, "B-1".into(), bell)]);

    let csv = "number,e-mail,customer,status,placed_at,total,lines\n\
               #17,,rosa@x.it,paid,2026-11-20,12.50 EUR,\"2 x Bell; Chain\"\n";
    let order = json!({"number": "#17", "contact": "rosa@x.it", "status": "paid",
        "placed_at": "2026-11-19T23:00:00Z", "total": price,
        "lines": [{"name": "Bell", "quantity": 2}, {"name": "Chain", "quantity": 1}]});
    assert_eq!(rows(Orders, Csv, csv), [(2, "#17".into(), order)]);

    let lines = "{\"key\": 7, \"name\": \"Ride\", \"starts_at\": \"2026-11-20T10:00\", \
        \"ends_at\": \"2026-11-20T12:00:00Z\", \"capacity\": 8, \"location\": null}\n\n";
    let event = json!({"name": "Ride", "starts_at": "2026-11-20T09:00:00Z",
        "ends_at": "2026-11-20T12:00:00Z", "capacity": 8, "location": null});
    assert_eq!(rows(Events, Json, lines), [(1, "7".into(), event)]);

    let array = r#"[{"key": "f", "name": "Check", "fields": [{"name": "a", "label": "A?"}]}]"#;
    let form = json!({"name": "Check", "fields": [{"name": "a", "label": "A?"}]});
    assert_eq!(rows(Forms, Json, array), [(1, "f".into(), form)]);

    let cards = "BEGIN:VCARD\r\nVERSION:4.0\r\nN:Bianchi;Rosa;;;\r\nFN:Rosa\r\n  Bianchi\r\n\
        item1.EMAIL;TYPE=\"a:b\":rosa@x.it\r\nTEL;VALUE=uri:tel:+39 06 1234\r\n\
        CATEGORIES:vip,a\\,b\r\nNOTE:likes\\nblue\r\nEND:VCARD\r\n";
    let rosa = json!({"name": "Rosa Bianchi",
        "details": {"email": "rosa@x.it", "phone": "+39 06 1234"}, "tags": ["a,b", "vip"],
        "notes": ["likes\nblue"]});
    assert_eq!(rows(Contacts, VCard, cards), [(1, "rosa@x.it".into(), rosa)]);
}

#[test]
fn o16_a_wrong_row_is_refused_with_its_column_and_the_reason() {
    let check = |kind, format, text: &str, number, column: &str, reason: &str| {
        let file = parse(kind, format, text).expect("a file");
        let [RefusedRow { number: found, column: at, reason: why }] = file.refused.as_slice()
        else {
            panic!("{text}: {file:?}");
        };
        assert_eq!((*found, at.as_str()), (number, column), "{text}: {why}");
        assert!(why.contains(reason), "{text}: {why}");
    };
    check(Products, Csv, "sku,name\nB-1,\n", 2, "name", "required");
    check(Products, Csv, "sku,name\n,Bell\nB-2,Horn\n", 2, "key", "no own key; fill in key or sku");
    check(Products, Csv, "sku,name,price\nB-1,Bell,12.50\n", 2, "price", "currency is missing");
    check(Products, Csv, "sku,name,price\nB-1,Bell,\"1,5 EUR\"\n", 2, "price", "decimal point");
    check(Products, Csv, "sku,name,active\nB-1,Bell,maybe\n", 2, "active", "yes or no");
    check(Products, Csv, "sku,name,capacity\nB-1,Bell,3\n", 2, "duration_minutes", "required");
    check(Products, Csv, "sku,name\nB-1,Bell,12\n", 2, "", "3 cells and the header 2");
    check(Contacts, Csv, "email,name\nrosa,Rosa\n", 2, "email", "not an e-mail address");
    check(Contacts, Csv, "phone,name\ncall me,Rosa\n", 2, "phone", "not a telephone number");
    check(
        Orders,
        Csv,
        "number,status,placed_at\n1,paid,soon\n",
        2,
        "placed_at",
        "2026-11-20T19:30",
    );
    check(
        Events,
        Csv,
        "key,name,starts_at,ends_at\n1,Ride,2026-11-20,2026-11-19\n",
        2,
        "ends_at",
        "before it starts",
    );
    check(Forms, Json, r#"[{"key": "f", "name": "F", "fields": [{"name": "a"}]}]"#, 1, "", "label");
    check(Forms, Json, "[7, {\"key\": \"f\", \"name\": \"F\"}]", 1, "", "each row is an object");
    check(Media, Csv, "key,title\n1,Logo\n", 2, "file", "path is required");
}

#[test]
fn o16_a_file_that_cannot_be_read_says_where() {
    let check = |kind, format, text: &str, expected: &str| {
        let refused = parse(kind, format, text).expect_err(text);
        assert!(refused.to_string().contains(expected), "{text}: {refused}");
    };
    check(Products, Csv, "", "no rows");
    check(Products, Csv, "sku,name\n", "no rows");
    check(
        Products,
        Csv,
        "name,price\nBell,1\n",
        "add one of: key, sku, or name the column with --key",
    );
    check(Products, Csv, "sku,Name,name\n1,a,b\n", "line 1: two columns are called `name`");
    check(Products, Json, "{\"sku\": \"1\"}\n{\"sku\"\n", "line 2: this is not JSON");
    check(Products, VCard, "BEGIN:VCARD\nEND:VCARD\n", "only contacts");
    check(Contacts, VCard, "FN:Rosa\n", "line 1: there is no BEGIN:VCARD");
    check(Contacts, VCard, "BEGIN:VCARD\nFN:Rosa\n", "line 2: the last card has no END:VCARD");
}

#[test]
fn columns_without_a_meaning_are_named() {
    let file = parse(Products, Csv, "sku,name,Colour,pirce\nB-1,Bell,red,3\n").expect("a file");
    assert_eq!(file.unused_columns, ["colour", "pirce"].map(String::from).into());
    let orders = "number,placed_at,contact,total\n1,2026-11-02,a@b.example,3 EUR\n2,soon,,\n";
    let file = parse(Orders, Csv, orders).expect("a file");
    assert_eq!((file.refused.len(), file.unused_columns), (2, [].into()), "refused rows");
}

#[test]
fn another_column_can_be_the_key() {
    let options = ImportOptions {
        kind: Products,
        key_field: Some("Art. No".into()),
        time_zone: "UTC".into(),
    };
    let file = read("Art. No,name\n7,Bell\n", Csv, &options).expect("a file");
    assert_eq!(file.rows[0].key, "7");
}

proptest! {
    /// Every text that CSV can hold is read back as it was written.
    #[test]
    fn cells_are_read_back(names in proptest::collection::vec("[^\\s\0](.{0,20}[^\\s\0])?".prop_filter(
        "no control characters", |text| !text.chars().any(char::is_control)), 1..8)) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["key", "name"]).unwrap();
        for (at, name) in names.iter().enumerate() {
            writer.write_record([&format!("k{at}"), name]).unwrap();
        }
        let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
        let read = rows(Products, Csv, &text);
        prop_assert_eq!(read.len(), names.len());
        for (row, name) in read.iter().zip(&names) {
            prop_assert_eq!(row.2["name"].as_str(), Some(name.trim()));
        }
    }

    #[test]
    fn no_text_makes_reading_panic(text in "(?s).{0,200}", at in 0_usize..18) {
        let kind = DataKind::ALL[at % 6];
        for format in [Csv, Json, VCard] {
            let _ = parse(kind, format, &text);
        }
        let card = format!("BEGIN:VCARD\n{text}\nEND:VCARD\n");
        let _ = parse(kind, VCard, &card);
        let cells = format!("key,name,price,tags,starts_at,ends_at,number,status,placed_at,email\n{text}");
        let _ = parse(kind, Csv, &cells);
    }
}
